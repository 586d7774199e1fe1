"""`gossamer completion`: lets bash, zsh and fish complete commands, options and their values.

The script calls the program that stands on the command line, by click's protocol. One script therefore serves a linked
`gossamer` and the `./gossamer` of any clone.
"""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

_BASH = """\
_gossamer_completion() {
    local program=$1 kind value
    [[ $program == "~/"* ]] && program=$HOME/${program:2}
    COMPREPLY=()
    while IFS=, read -r kind value; do
        case $kind in
            plain) COMPREPLY+=("$value") ;;
            dir) compopt -o dirnames 2>/dev/null ;;
            file) compopt -o default 2>/dev/null ;;
        esac
    done < <(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD="$COMP_CWORD" _GOSSAMER_COMPLETE=bash_complete \\
        "$program" 2>/dev/null)
}
complete -o nosort -F _gossamer_completion gossamer 2>/dev/null || complete -F _gossamer_completion gossamer
"""

_ZSH = """\
#compdef gossamer
_gossamer_completion() {
    local -a lines bare described
    local kind value meaning
    lines=("${(@f)$(env COMP_WORDS="${words[*]}" COMP_CWORD=$((CURRENT-1)) _GOSSAMER_COMPLETE=zsh_complete \\
        ${~words[1]} 2>/dev/null)}")
    for kind value meaning in "${lines[@]}"; do
        case $kind in
            plain) if [[ $meaning == _ ]]; then bare+=("$value"); else described+=("$value:$meaning"); fi ;;
            dir) _path_files -/ ;;
            file) _path_files -f ;;
        esac
    done
    (( $#described )) && _describe -V gossamer described
    (( $#bare )) && compadd -a bare
    return 0
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _gossamer_completion "$@"
else
    compdef _gossamer_completion gossamer
fi
"""

_FISH = """\
function _gossamer_completion
    set -l words (commandline -opc)
    set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
    for line in (env COMP_WORDS=(commandline -cp) COMP_CWORD=(commandline -ct) _GOSSAMER_COMPLETE=fish_complete \\
            $program 2>/dev/null)
        set -l found (string split -m 1 , -- $line)
        switch $found[1]
            case plain
                echo $found[2]
            case dir
                __fish_complete_directories $found[2]
            case file
                __fish_complete_path $found[2]
        end
    end
end
complete --no-files --command gossamer --arguments '(_gossamer_completion)'
"""

SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


@click.command("completion")
@click.argument("shell", type=click.Choice(list(SCRIPTS)))
def command(shell: str) -> None:
    """Print a script that lets your shell complete commands and options.

    Write it once to the folder where your shell looks for such scripts, and open a new shell. It works for a linked
    `gossamer` and for the `./gossamer` of every clone. In zsh, the folder must be in fpath before compinit runs; else
    put `source <(gossamer completion zsh)` at the end of ~/.zshrc.

    \b
    Examples:
      gossamer completion bash \\
        > ~/.local/share/bash-completion/completions/gossamer
      gossamer completion zsh > ~/.zfunc/_gossamer
      gossamer completion fish > ~/.config/fish/completions/gossamer.fish
    """
    click.echo(SCRIPTS[shell], nl=False)


def complete(program: click.Command, instruction: str) -> int:
    """Print the completions for the shell that the instruction names, such as `bash_complete`."""
    kind = get_completion_class(instruction.removesuffix("_complete"))
    if kind is None:
        return 1
    click.echo(kind(program, {}, "gossamer", "").complete())
    return 0
