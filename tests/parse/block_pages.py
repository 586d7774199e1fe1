"""Challenge and block pages, shortened from real ones in public documentation and issue threads, and pages about them."""

from __future__ import annotations

from typing import NamedTuple


class Form(NamedTuple):
    """An answer that stands in place of a page."""

    service: str
    status: int
    headers: tuple[str, ...]
    body: str


def page(title: str, body: str) -> str:
    """A document with this title and body."""
    return f"<!DOCTYPE html><html><head><title>{title}</title></head><body>{body}</body></html>"


FORMS = [
    Form("Cloudflare", 403, ("cf-mitigated: challenge", "server: cloudflare"), page("Just a moment...", "<h1>x</h1>")),
    Form("Cloudflare", 200, (), page("Just a moment...", "<script>window._cf_chl_opt={cvId:'3'};a.src='/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1'</script>")),
    Form("Cloudflare", 403, (), page("Nur einen Moment…", "<script>(function(){window._cf_chl_opt={cType:'managed'};cpo.src='/cdn-cgi/challenge-platform/h/g/orchestrate'})()</script>")),
    Form("Cloudflare", 503, ("cf-chl-bypass: 1",), page("Just a moment...", "<form id=challenge-form><input name=jschl_vc></form>")),
    Form("Cloudflare", 200, (), page("Just a moment...", "<div class=cf-browser-verification><p>Checking your browser before accessing</div><form action='/cdn-cgi/l/chk_jschl'>")),
    Form("Cloudflare", 403, (), page("Attention Required! | Cloudflare", "<div id=cf-wrapper><div id=cf-error-details>Sorry, you have been blocked. Ray ID: 83</div></div>")),
    Form("Cloudflare", 403, (), page("Access denied | example.org used Cloudflare to restrict access", "<div id=cf-wrapper><div id=cf-error-details>Error 1020. Ray ID</div></div>")),
    Form("Akamai", 403, ("Server: AkamaiGHost",), "<HTML><HEAD>\n<TITLE>Access Denied</TITLE>\n</HEAD><BODY>\n<H1>Access Denied</H1>\n \nYou don't have permission to access \"http&#58;&#47;&#47;example&#46;org&#47;\" on this server.<P>\nReference&#32;&#35;18&#46;e3c1202\n</BODY></HTML>"),
    Form("Akamai", 403, ("Server: AkamaiGHost",), page("Access Denied", "<h1>Access Denied</h1> You don't have permission to access \"http://www.example.org/\" on this server.<p>Reference #18.eb5e8c4f.1620973349.187d926b")),
    Form("Akamai", 200, (), "<html><head></head><body><div id='sec-if-cpt-container'></div><script src='/_sec/cp_challenge/ak-challenge-4-3.htm'></script></body></html>"),
    Form("Imperva", 200, (), "<html style='height:100%'><head><META NAME='ROBOTS' CONTENT='NOINDEX, NOFOLLOW'></head><body><iframe id='main-iframe' src='/_Incapsula_Resource?SWUDNSAI=31&xinfo=9-1&incident_id=1'>Request unsuccessful. Incapsula incident ID: 877000</iframe></body></html>"),
    Form("Imperva", 200, (), '<html>\n<head>\n<META NAME="robots" CONTENT="noindex,nofollow">\n<script src="/_Incapsula_Resource?SWJIYLWA=5074a744e2e3d891814e9a2dace20bd4,719d34d31c8e3a6e6fffd425f7e032f3">\n</script>\n<body>\n</body></html>'),
    Form("Imperva", 200, (), page("Pardon Our Interruption", "<script>function onProtectionInitialized(protection){}</script><h1>Pardon Our Interruption</h1>As you were browsing something about your browser made us think you were a bot.")),
    Form("DataDome", 403, ("x-datadome: protected",), "<html lang='en'><head><title>example.org</title></head><body><p id='cmsg'>Please enable JS and disable any ad blocker</p><script>var dd={'rt':'c','cid':'A','host':'geo.captcha-delivery.com'}</script><script src='https://ct.captcha-delivery.com/c.js'></script></body></html>"),
    Form("DataDome", 200, (), "<html><head><title>You have been blocked</title></head><body><p id=cmsg>Please enable JS</p><script>var dd={'cid':'A','t':'fe','host':'c.datado.me'}</script><script src='https://ct.datado.me/c.js'></script></body></html>"),
    Form("HUMAN", 403, (), page("Access to this page has been denied", "<script>window._pxVid = '';window._pxUuid = 'dd';window._pxAppId = 'PXaOtQIWNf';</script><div id=px-captcha></div>")),
    Form("HUMAN", 200, (), page("Access to this page has been denied.", "<div id=px-captcha></div><script src='https://captcha.px-cdn.net/PX/captcha.js'></script>")),
    Form("Sucuri", 200, (), "<html><title>You are being redirected...</title><noscript>Javascript is required.</noscript><script>var s={},S='';sucuri_cloudproxy_js='';</script></html>"),
    Form("Sucuri", 403, ("X-Sucuri-Block: IPB",), page("Sucuri WebSite Firewall - Access Denied", "Block ID: IPB17 cloudproxy@sucuri.net")),
    Form("AWS WAF", 202, ("x-amzn-waf-action: challenge",), ""),
    Form("AWS WAF", 405, ("x-amzn-waf-action: captcha",), page("Human Verification", "")),
    Form("AWS WAF", 200, (), "<html><head><script>window.awsWafCookieDomainList=[];window.gokuProps={'key':'A'};</script><script src='https://x.token.awswaf.com/x/challenge.js'></script></head><body><div id='challenge-container'></div></body></html>"),
    Form("CloudFront", 403, ("Server: CloudFront",), page("ERROR: The request could not be satisfied", "<h1>403 ERROR</h1>Request blocked. We can't connect to the server for this app. Generated by cloudfront (CloudFront)")),
    Form("F5", 200, (), page("Request Rejected", "The requested URL was rejected. Please consult with your administrator.<br><br>Your support ID is: 1234")),
    Form("F5", 200, (), "<html><head><noscript>Please enable JavaScript to view the page content.<br/>Your support ID is: 17.</noscript><script src='/TSPD/08e?type=9'></script></head><body></body></html>"),
    Form("Kasada", 429, ("x-kpsdk-ct: 0a1b",), "<html><head></head><body><script>window.KPSDK={};</script><script src='/149e/2d20/ips.js?tkrm=1'></script></body></html>"),
    Form("Kasada", 200, (), "<!DOCTYPE html><html><body><script>window.KPSDK={};KPSDK.now=1;</script><script src='/149e/2d20/ips.js?x=1'></script></body></html>"),
    Form("DDoS-Guard", 403, ("Server: ddos-guard",), page("DDoS-Guard", "<h1>Checking your browser before accessing example.org</h1><script src='/.well-known/ddos-guard/js-challenge/index.js'></script>")),
    Form("Vercel", 429, ("x-vercel-mitigated: challenge",), page("Vercel Security Checkpoint", "We're verifying your browser")),
    Form("Vercel", 200, (), page("Vercel Security Checkpoint", "<p>We're verifying your browser</p><p>Vercel Security Checkpoint | fra1::1</p>")),
    Form("Reblaze", 247, (), "<html><head><script>window.rbzns={bereshit:'1',seed:'x'};winsocks();</script></head><body></body></html>"),
    Form("Radware", 302, ("Location: https://validate.perfdrive.com/abc?ssa=1",), ""),
    Form("Radware", 200, (), page("Radware Captcha Page", "<script src='https://captcha.perfdrive.com/captcha-public/x.js'></script>We apologize for the inconvenience")),
    Form("Radware", 403, (), page("Unauthorized Request Blocked", "because we have detected unauthorized activity <a href='mailto:CloudWebSec@radware.com'>")),
    Form("Fastly", 200, (), page("Client Challenge", "<script src='/_fs-ch-1T1wmsGaOgGaSxcX/script.js'></script><noscript>JavaScript is disabled in your browser.</noscript>")),
    Form("StackPath", 403, (), page("StackPath", "example.org is using a security service for protection against online attacks. An action has triggered the service and blocked your request.")),
    Form("Anubis", 200, (), page("Making sure you&#39;re not a bot!", "<script id='anubis_version' type='application/json'>1</script><script id='anubis_challenge' type='application/json'>{}</script><img src='/.within.website/x/cmd/anubis/static/img/pensive.webp'>")),
    Form("go-away", 200, (), page("Checking you are not a bot", "<link rel=stylesheet href='/.well-known/.git.gammaspectra.live/git/go-away/assets/static/anubis/style.css'>Loading challenge")),
    Form("Google", 429, (), page("https://www.example.org/", "<form id=\"captcha-form\" action=index></form>Our systems have detected unusual traffic from your computer network.")),
    Form("Yandex", 200, ("X-Yandex-Captcha: captcha",), page("Are you not a robot?", "<form action='/checkcaptcha'>SmartCaptcha")),
    Form("Alibaba", 200, (), "<html><script>var arg1='0123456789ABCDEF';var _0x4818=['x'];setCookie('acw_sc__v2',x);</script></html>"),
    Form("SiteGround", 202, ("SG-Captcha: challenge",), "<html><head><meta http-equiv='refresh' content='0;/.well-known/sgcaptcha/?r=%2F'></head></html>"),
    Form("Imunify360", 200, (), page("One moment, please...", "<h1>Please wait while your request is being verified...</h1>")),
    Form("LiteSpeed", 200, (), "<html><head><meta http-equiv='refresh' content='0;url=/.lsrecap/recaptcha?'></head></html>"),
    Form("testcookie", 200, (), "<html><body><script src='/aes.js'></script><script>function toNumbers(d){}var a=toNumbers('f6');document.cookie=\"__test=\"+toHex(slowAES.decrypt(c,2,a,b))+\"\";location.href='/?i=1';</script><noscript>This site requires Javascript to work</noscript></body></html>"),
    Form("Wordfence", 503, (), page("Your access to this site has been limited by the site owner", "<p>Generated by Wordfence</p>")),
]  # fmt: skip

SUBJECTS = (
    "Just a moment", "Just a moment...: what the page of Cloudflare means", "Attention Required! | Cloudflare, explained",
    "Access Denied", "Access denied: reading Akamai's reference numbers", "Pardon Our Interruption",
    "Request Rejected by an F5 load balancer", "Human Verification", "Client Challenge", "Vercel Security Checkpoint",
    "Making sure you're not a bot!", "DDoS-Guard", "Radware Captcha Page", "StackPath", "One moment, please",
    "You are being redirected", "Checking your browser", "Access to this page has been denied", "Robot Challenge Screen",
    "Are you not a robot?", "ERROR: The request could not be satisfied", "Azure WAF", "Please verify you are a human",
    "Sucuri WebSite Firewall", "Unauthorized Request Blocked",
)  # fmt: skip
# Their markup as an article writes it, and as some articles forget to escape it.
QUOTES = (
    "&lt;script src='/cdn-cgi/challenge-platform/h/b/'&gt; window._cf_chl_opt gokuProps awswaf.com px-captcha _pxAppId"
)


def pages_about(words: int) -> list[str]:
    """Pages that explain such pages, quote their words and their markup, and have this much text."""
    prose = " ".join(
        f"In step {number} the owner of the site explains what readers see, and why." for number in range(words)
    )
    tokens = f"<pre>{QUOTES} /_Incapsula_Resource? var dd={{ anubis_challenge KPSDK /ips.js? captcha-delivery.com</pre>"
    return [page(subject, f"<h1>{subject}</h1><p>{prose}</p>{tokens}<p>{prose}</p>") for subject in SUBJECTS]
