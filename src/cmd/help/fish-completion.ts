import { type DescribedCommand, takesClusterName, takesPath } from '#cmd/help/command-tree.ts'

export function fishCompletion(tree: readonly DescribedCommand[]): string {
  const own = tree.map(({ name }) => name).join(' ')
  return `# fish completion of typernetes
function __typernetes_kubectl
    set -l words (commandline -opc) (commandline -ct)
    set -e words[1]
    test "$words[1]" = kubectl; and set -e words[1]
    typernetes kubectl __complete $words 2>/dev/null | string match -v -r '^:'
end

function __typernetes_word -a place word
    set -l words (commandline -opc)
    set -l index (math $place + 1)
    test (count $words) -ge $index; and test "$words[$index]" = "$word"
end

function __typernetes_is_kubectl
    set -l words (commandline -opc)
    test (count $words) -gt 1; and begin; test "$words[2]" = kubectl; or not contains -- "$words[2]" ${own}; end
end

complete -c typernetes -f
${tree.map(({ name, summary }) => `complete -c typernetes -n 'test (count (commandline -opc)) -eq 1' -a ${name} -d ${quoted(summary)}`).join('\n')}
complete -c typernetes -n __typernetes_is_kubectl -a '(__typernetes_kubectl)'
${tree
  .filter(({ name }) => name !== 'kubectl')
  .flatMap((command) => linesOf(command))
  .join('\n')}
complete -c tn -w typernetes
`
}

function linesOf(command: DescribedCommand): string[] {
  const isThis = `__typernetes_word 1 ${command.name}`
  if (command.commands.length === 0) return flagLines(command, isThis)
  return command.commands.flatMap((each) => {
    const name = each.name.split(' ').at(-1) ?? ''
    const offered = `complete -c typernetes -n '${isThis}; and test (count (commandline -opc)) -eq 2' -a ${name} -d ${quoted(each.summary)}`
    return [offered, ...flagLines(each, `${isThis}; and __typernetes_word 2 ${name}`)]
  })
}

function flagLines(command: DescribedCommand, condition: string): string[] {
  const flags = command.flags.map((flag) => {
    const { long, short, placeholder, choices, help } = flag
    const value =
      choices.length > 0 ? ` -x -a ${quoted(choices.join(' '))}` : placeholder === undefined ? '' : takesPath(flag) ? ' -r -F' : ' -x'
    const names = `-l ${long.slice(2)}${short === undefined ? '' : ` -s ${short.slice(1)}`}`
    return `complete -c typernetes -n '${condition}' ${names}${value} -d ${quoted(help)}`
  })
  if (takesClusterName(command)) flags.push(`complete -c typernetes -n '${condition}' -a '(typernetes list -o name 2>/dev/null)'`)
  return flags
}

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", `\\'`)}'`
