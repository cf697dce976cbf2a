/** `kubectl __complete WORDS…`: the words that may stand where the last one stands, as shells ask for them that kubectl's own scripts were loaded into. */
import { type CommandLine, flagsOf, parseCommandLine } from '#cli/flags/parse-command-line.ts'
import { requiredFlags } from '#cli/flags/required-flags.ts'
import type { Host } from '#cli/host.ts'
import { Session } from '#cli/session/session.ts'
import { ClusterWords } from './cluster-words.ts'
import { flagValues } from './flag-values.ts'
import { argumentWords, subcommands } from './positions.ts'
import { directives, type Words } from './words.ts'

const directiveNames: readonly (readonly [bit: number, name: string])[] = [
  [directives.noSpace, 'NoSpace'],
  [directives.noFiles, 'NoFileComp'],
  [directives.fileExtensions, 'FilterFileExt'],
]

const nothing: Words = { words: [], directive: directives.plain }

export async function complete(args: readonly string[], host: Host, { hasDescriptions }: { hasDescriptions: boolean }): Promise<void> {
  const given = args[0] === '--' ? args.slice(1) : args
  const last = given.at(-1) ?? ''
  const { words, directive, summaryOf } = await found(given.slice(0, -1), last, host).catch(() => nothing)
  const lines = words.map((word) => {
    const summary = hasDescriptions ? summaryOf?.(word) : undefined
    return summary === undefined ? word : `${word}\t${summary}`
  })
  host.write([...lines, `:${directive}`].map((line) => `${line}\n`).join(''))
  const names = directiveNames.filter(([bit]) => (directive & bit) !== 0).map(([, name]) => `ShellCompDirective${name}`)
  // For those who look into it; shells throw it away.
  host.complain(`Completion ended with directive: ${names.length === 0 ? 'ShellCompDirectiveDefault' : names.join(', ')}\n`)
}

async function found(before: readonly string[], last: string, host: Host): Promise<Words> {
  const [, flagBefore] = /^--?([^=]+)$/.exec(before.at(-1) ?? '') ?? []
  const open = openFlag(before, flagBefore)
  const line = lenientLine(open === undefined ? before : before.slice(0, -1))
  const session = new Session(line.flags.except(line.command.flags.map(({ name }) => name)), { ...host, complain() {} }, line.command.path)
  const cluster = new ClusterWords({ ...line, host: { ...host, complain() {} }, session })
  const [, long, short, inlineValue] = /^-(?:-([^=]+)|([^=-]))=(.*)$/s.exec(last) ?? []
  const inlineFlag = long ?? [...flagsOf(line.command).values()].find((flag) => flag.short === short && short !== undefined)?.name
  if (open !== undefined) return filtered(await flagValues({ line, cluster, last }, open), last)
  if (inlineFlag !== undefined) return filtered(await flagValues({ line, cluster, last: inlineValue ?? '' }, inlineFlag), inlineValue ?? '')
  if (last.startsWith('-') && line.argsBeforeDash === undefined) return flagWords(line, last)
  const children = line.args.length === 0 ? subcommands(line.command) : []
  if (children.length > 0) {
    const { commandSummaries } = await import('#cli/help/command-summaries.ts')
    const summaryOf = (word: string) => commandSummaries[`${line.command.path} ${word}`.trim()]
    return filtered({ words: children, directive: directives.noFiles, summaryOf }, last)
  }
  const required = (requiredFlags[line.command.path] ?? []).filter((name) => !line.flags.isSet(name)).map((name) => `--${name}`)
  const { words, directive } = await argumentWords({ line, cluster, last })
  return filtered({ words: [...required, ...words], directive }, last)
}

const filtered = ({ words, ...others }: Words, last: string): Words => ({
  ...others,
  words: [...new Set(words)].filter((word) => others.directive === directives.fileExtensions || word.startsWith(last)),
})

/** The flag whose value is being typed. */
function openFlag(before: readonly string[], name: string | undefined): string | undefined {
  if (name === undefined || before.includes('--')) return undefined
  const { command } = lenientLine(before.slice(0, -1))
  const isLong = before.at(-1)?.startsWith('--')
  const flag = [...flagsOf(command).values()].find((each) => (isLong ? each.name === name : each.short === name))
  return flag === undefined || flag.alone !== undefined ? undefined : flag.name
}

/** What cannot be understood yet is left out. */
function lenientLine(args: readonly string[]): CommandLine {
  try {
    return parseCommandLine(args, () => {})
  } catch {
    return args.length === 0 ? parseCommandLine([], () => {}) : lenientLine(args.slice(0, -1))
  }
}

async function flagWords({ command, flags }: CommandLine, last: string): Promise<Words> {
  const { flagTexts } = await import('#cli/help/flag-texts.ts')
  const open = [...flagsOf(command).values()].filter(
    ({ name, isHidden, type }) =>
      (name === 'help' || !isHidden) && (!flags.isSet(name) || type === 'list' || type === 'array' || type === 'map'),
  )
  const words = open.flatMap(({ name, short }) => [`--${name}`, ...(short === '' ? [] : [`-${short}`])])
  const summaryOf = (word: string) =>
    flagTexts[word.startsWith('--') ? word.slice(2) : (open.find(({ short }) => `-${short}` === word)?.name ?? '')]
  return { words: words.filter((word) => word.startsWith(last)).sort(), directive: directives.noFiles, summaryOf }
}
