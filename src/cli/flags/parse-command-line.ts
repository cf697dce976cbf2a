/** From arguments to a command and its flags, in the way of the library that kubectl uses for it. */
import { defined } from '#base/defined.ts'
import { PlainError } from '#cli/cli-error.ts'
import { type CommandSpec, childrenOf, commandSpecs, type FlagSpec, globalFlags, lastWord } from './command-spec.ts'
import { Flags } from './flags.ts'

export type CommandLine = {
  command: CommandSpec
  flags: Flags
  args: string[]
  /** How many of `args` came before `--`; undefined where there was none. */
  argsBeforeDash?: number
  wantsHelp: boolean
}

const help: FlagSpec = { name: 'help', short: 'h', type: 'bool', initial: 'false', alone: 'true', isHidden: true }

export function flagsOf(command: CommandSpec): Map<string, FlagSpec> {
  return knownFlags(command).set('help', help)
}

/** While the command is looked for, `--help` is not known yet and takes the word behind it: `--help get` asks for the help of kubectl itself. */
function knownFlags(command: CommandSpec): Map<string, FlagSpec> {
  const all = new Map(globalFlags().map((flag) => [flag.name, flag]))
  for (const flag of command.flags) all.set(flag.name, flag)
  return all
}

/** The command that the arguments name, the arguments without its name, and the first word that is left of them. */
export function findCommand(args: readonly string[]): { command: CommandSpec; rest: string[]; word?: string } {
  let command = commandSpecs().get('') as CommandSpec
  let rest = [...args]
  for (;;) {
    const at = firstWord(rest, knownFlags(command))
    const word = at === undefined ? undefined : rest[at]
    const next =
      word === undefined ? undefined : childrenOf(command.path).find((each) => lastWord(each.path) === word || each.aliases.includes(word))
    if (at === undefined || next === undefined) return { command, rest, ...defined({ word }) }
    rest = rest.toSpliced(at, 1)
    command = next
  }
}

/** Where the first argument is that is neither a flag nor a flag's value. */
function firstWord(args: readonly string[], specs: ReadonlyMap<string, FlagSpec>): number | undefined {
  const shorts = new Map([...specs.values()].filter(({ short }) => short !== '').map((flag) => [flag.short, flag]))
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? ''
    if (arg === '--') return undefined
    const isLong = arg.startsWith('--')
    if (
      isLong
        ? !arg.includes('=') && specs.get(arg.slice(2))?.alone === undefined
        : arg.length === 2 && arg.startsWith('-') && shorts.get(arg.slice(1))?.alone === undefined
    )
      at++
    else if (arg !== '' && !arg.startsWith('-')) return at
  }
  return undefined
}

/** Throws a `PlainError` in the words that users know. `onDeprecated` is told of flags that will go. */
export function parseCommandLine(args: readonly string[], onDeprecated: (line: string) => void): CommandLine {
  const { command, rest } = findCommand(args)
  const specs = flagsOf(command)
  const shorts = new Map([...specs.values()].filter(({ short }) => short !== '').map((flag) => [flag.short, flag]))
  const flags = new Flags(specs)
  const line: CommandLine = { command, flags, args: [], wantsHelp: false }
  const fail = (message: string): never => {
    // What is no difference has an exit code of its own there.
    if (command.path === 'diff') throw new PlainError(`error: ${message}\nSee 'kubectl diff -h' for help and examples`, 2)
    throw new PlainError(`error: ${message}\nSee 'kubectl${command.path === '' ? '' : ` ${command.path}`} --help' for usage.`)
  }
  const give = (spec: FlagSpec, value: string) => {
    if (spec.deprecated !== undefined && !flags.isSet(spec.name))
      onDeprecated(`Flag --${spec.name} has been deprecated, ${spec.deprecated}`)
    try {
      flags.give(spec, value)
    } catch (error) {
      const shown = spec.short === '' ? `--${spec.name}` : `-${spec.short}, --${spec.name}`
      fail(`invalid argument ${JSON.stringify(value)} for "${shown}" flag: ${(error as Error).message}`)
    }
  }
  for (let at = 0; at < rest.length; at++) {
    const arg = rest[at] ?? ''
    if (arg === '--') {
      line.argsBeforeDash = line.args.length
      line.args.push(...rest.slice(at + 1))
      break
    }
    if (arg.startsWith('--')) {
      const equals = arg.indexOf('=')
      const name = (equals < 0 ? arg.slice(2) : arg.slice(2, equals)).replaceAll('_', '-')
      if (name === '' || name.startsWith('-') || equals === 2) fail(`bad flag syntax: ${arg}`)
      const spec = specs.get(name)
      if (spec === undefined) {
        fail(`unknown flag: --${name}`)
        continue
      }
      if (equals >= 0) give(spec, arg.slice(equals + 1))
      else if (spec.alone !== undefined) give(spec, spec.alone)
      else if (at + 1 < rest.length) give(spec, rest[++at] ?? '')
      else fail(`flag needs an argument: --${name}`)
    } else if (arg.startsWith('-') && arg !== '-') {
      for (let rests = arg.slice(1); rests !== ''; ) {
        const short = rests[0] ?? ''
        const spec = shorts.get(short)
        if (spec === undefined) {
          fail(`unknown shorthand flag: '${short}' in -${rests}`)
          break
        }
        if (rests[1] === '=' && rests.length > 2) {
          give(spec, rests.slice(2))
          break
        }
        if (spec.alone !== undefined) {
          give(spec, spec.alone)
          rests = rests.slice(1)
          continue
        }
        if (rests.length > 1) give(spec, rests.slice(1))
        else if (at + 1 < rest.length) give(spec, rest[++at] ?? '')
        else fail(`flag needs an argument: '${short}' in -${rests}`)
        break
      }
    } else line.args.push(arg)
  }
  return { ...line, wantsHelp: flags.isOn('help') }
}

/** Commands that the user may have meant. */
export function similarCommands(word: string): string[] {
  return childrenOf('')
    .map(({ path }) => path)
    .filter((path) => distance(word.toLowerCase(), path) <= 2 || path.startsWith(word.toLowerCase()))
    .sort()
}

/** How many letters must change. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let i = 1; i <= one.length; i++) {
    const next = [i]
    for (let j = 1; j <= other.length; j++) {
      const substitution = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1)
      next.push(Math.min(substitution, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
