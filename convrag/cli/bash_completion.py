"""`convrag -sc install=bash`: the script that completes the command in bash, and the answers to it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

_INSTALL = r"""
declare -gA _convrag_python_before

_convrag() {  # complete the last word of `convrag ...` or `python -m convrag ...`
    local command=("${COMP_WORDS[0]}") line=${COMP_LINE:0:COMP_POINT} breaks= kept= quoted= sign word reply
    [[ ${COMP_WORDS[0]##*/} == python* ]] && command+=(-m convrag)
    word=${line##* }
    if [[ $word == [\'\"]* ]]; then
        quoted=yes
    else  # bash replaces what stands behind the last of its signs between words
        for sign in = : @; do [[ $COMP_WORDBREAKS == *"$sign"* ]] && breaks+=$sign; done
        [[ -n $breaks ]] && kept=${word%"${word##*[$breaks]}"}
    fi
    COMPREPLY=()
    while IFS= read -r reply; do
        [[ -n $quoted ]] && reply=${reply% }
        COMPREPLY+=("${reply#"$kept"}")
    done < <(COMP_LINE=$line COMP_POINT=$COMP_POINT "${command[@]}" -sc query=bash 2>/dev/null)
}

_convrag_python() {  # `python -m convrag` as above; any other python as before
    if [[ $COMP_CWORD -gt 2 && ${COMP_WORDS[1]} == -m && ${COMP_WORDS[2]} == convrag ]]; then
        _convrag
    else
        compopt +o nospace
        [[ -z ${_convrag_python_before[$1]} ]] || "${_convrag_python_before[$1]}" "$@"
    fi
}

complete -o default -o nospace -F _convrag convrag
for _convrag_name in python python3; do
    declare -F _completion_loader >/dev/null && _completion_loader "$_convrag_name"
    _convrag_found=$(complete -p "$_convrag_name" 2>/dev/null)
    if [[ $_convrag_found == *" -F "* && $_convrag_found != *_convrag_python* ]]; then
        _convrag_found=${_convrag_found##* -F }
        _convrag_python_before[$_convrag_name]=${_convrag_found%% *}
    fi
    complete -o default -o nospace -F _convrag_python "$_convrag_name"
done
unset _convrag_name _convrag_found
"""

_UNINSTALL = r"""
complete -r convrag python python3
for _convrag_name in "${!_convrag_python_before[@]}"; do
    complete -o default -F "${_convrag_python_before[$_convrag_name]}" "$_convrag_name"
done
unset -f _convrag _convrag_python
unset _convrag_name _convrag_python_before
"""

_SCRIPTS = {"install=bash": _INSTALL, "uninstall=bash": _UNINSTALL}


def answer_bash(arguments: Sequence[str]) -> bool:
    """Print a script, or what the last word of the command in COMP_LINE may be, one on each line.

    Args:
        arguments: those behind `-sc`.

    Returns:
        Whether they are about bash. Other shells are Hydra's matter.
    """
    what = "".join(arguments[:1])
    if what in _SCRIPTS:
        sys.stdout.write(_SCRIPTS[what].lstrip())
    elif what == "query=bash":
        from convrag.cli.completion import complete_line

        sys.stdout.writelines(f"{word}\n" for word in complete_line(os.environ.get("COMP_LINE", "")))
    return what in (*_SCRIPTS, "query=bash")
