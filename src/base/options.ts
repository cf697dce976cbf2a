/** Settings of a command, declared once: a flag, a key of the configuration file, an environment variable, a line of help. */

import { Command, InvalidArgumentError, Option } from 'commander'
import { lengthOfTimeMs } from '#base/duration.ts'

type OptionKind<T> = {
  /** What stands for the value in the help. Absent for switches. */
  placeholder?: string
  parse(text: string): T
  /** The opposite, where JSON is not what `parse` takes. */
  show?(value: T): string
}

export type OptionDeclaration<T> = {
  kind: OptionKind<T>
  help: string
  default: T
  /** One letter. */
  short?: string
  /** Shown instead of the default value. */
  defaultText?: string
  choices?: readonly string[]
  /** One of the few that people use: `--help` shows these, `--help-all` the rest as well. */
  isCommon?: boolean
}

// biome-ignore lint/suspicious/noExplicitAny: a set of options has values of all types
export type OptionDeclarations = Record<string, OptionDeclaration<any>>
export type OptionValues<D extends OptionDeclarations> = { [K in keyof D]: D[K] extends OptionDeclaration<infer T> ? T : never }

/** Only adds types. */
export function defineOptions<D extends OptionDeclarations>(declarations: D): D {
  return declarations
}

type Extras<T> = Pick<OptionDeclaration<T>, 'short' | 'defaultText' | 'choices' | 'isCommon' | 'default'> & { placeholder?: string }
/** Says what is wrong with a value, and what is allowed: `is not a valid range of addresses such as 10.96.0.0/16`. */
export type CheckValue = (value: string) => string | undefined

type TextExtras<T> = Extras<T> & { check?: CheckValue }
export function text(help: string, extras: TextExtras<string>): OptionDeclaration<string>
export function text(help: string, extras: TextExtras<string | undefined>): OptionDeclaration<string | undefined>
export function text(
  help: string,
  { placeholder = 'TEXT', check, ...extras }: TextExtras<string | undefined>,
): OptionDeclaration<string | undefined> {
  return { kind: { placeholder, parse: (value) => checked(value, check) }, help, ...extras }
}

function checked(value: string, check: CheckValue | undefined): string {
  const trouble = check?.(value)
  if (trouble !== undefined) throw new InvalidArgumentError(`It ${trouble}.`)
  return value
}

export function wholeNumber(
  help: string,
  { placeholder = 'N', min, max, ...extras }: Extras<number> & { min?: number; max?: number },
): OptionDeclaration<number> {
  const parse = (value: string) => {
    if (!/^-?\d+$/.test(value)) throw new InvalidArgumentError('It is not a whole number.')
    const number = Number(value)
    if (number < (min ?? number) || number > (max ?? number)) {
      const allowed = min === undefined ? `up to ${max}` : max === undefined ? `from ${min} on` : `from ${min} to ${max}`
      throw new InvalidArgumentError(`Allowed are whole numbers ${allowed}.`)
    }
    return number
  }
  return { kind: { placeholder, parse }, help, ...extras }
}

/** A number that need not be whole: a rate, a share. */
export function decimal(help: string, { placeholder = 'N', ...extras }: Extras<number>): OptionDeclaration<number> {
  const parse = (value: string) => {
    if (!/^-?(\d+(\.\d*)?|\.\d+)(e-?\d+)?$/i.test(value)) throw new InvalidArgumentError('It is not a number.')
    return Number(value)
  }
  return { kind: { placeholder, parse }, help, ...extras }
}

/** A length of time as Go writes it (`30s`, `1m30s`, `500ms`), in milliseconds. */
export function duration(help: string, { placeholder = 'TIME', ...extras }: Extras<number>): OptionDeclaration<number> {
  const parse = (value: string) => {
    const ms = lengthOfTimeMs(value)
    if (ms === undefined) throw new InvalidArgumentError('It is not a length of time such as 30s or 1m30s.')
    return ms
  }
  const show = (ms: number) => (ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`)
  return { kind: { placeholder, parse, show }, help, ...extras }
}

/** `--name`, `--name=true`, `--name=false`. */
export function onOff(help: string, extras: Extras<boolean>): OptionDeclaration<boolean> {
  const parse = (value: string) => {
    if (value === 'true' || value === 'false') return value === 'true'
    throw new InvalidArgumentError('It is neither true nor false.')
  }
  return { kind: { parse }, help, ...extras }
}

/** Comma-separated, and may be given several times. */
export function list(
  help: string,
  { placeholder = 'LIST', check, ...extras }: Extras<readonly string[]> & { check?: CheckValue },
): OptionDeclaration<readonly string[]> {
  const parts = (value: string) => value.split(',').filter((part) => part !== '')
  return { kind: { placeholder, parse: (value) => parts(value).map((part) => checked(part, check)) }, help, ...extras }
}

/** One value each time it is given, commas and all. */
export function repeated(
  help: string,
  { placeholder = 'TEXT', check, ...extras }: Extras<readonly string[]> & { check?: CheckValue },
): OptionDeclaration<readonly string[]> {
  return { kind: { placeholder, parse: (value) => [checked(value, check)] }, help, ...extras }
}

/** `dataDir` is `--data-dir` and `TYPERNETES_DATA_DIR`. */
export function flagName(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

export function environmentName(key: string): string {
  return `TYPERNETES_${flagName(key).replaceAll('-', '_').toUpperCase()}`
}

/** Switches by themselves are on: what follows is theirs only where it is `true` or `false`, else `up -d NAME` would take the name for it. */
export function withSwitchValues(args: readonly string[], command: Command): string[] {
  const switches = new Map(
    command.options.filter(({ optional }) => optional).flatMap(({ short, long }) => [[short, long] as const, [long, long] as const]),
  )
  return args.map((arg, index) => {
    const long = switches.get(arg)
    return long === undefined || ['true', 'false'].includes(args[index + 1] ?? '') ? arg : `${long}=true`
  })
}

/** What each command was declared with. */
const declaredOf = new WeakMap<Command, OptionDeclarations>()

export type AddOptions = {
  /** `--config` means something else to this command: a component's own configuration file. */
  hasOwnConfig?: boolean
  /** Every flag is in the help: `--help-all` was asked for. */
  showsAll?: boolean
}

/** Adds the flags to a command. */
export function addOptions(command: Command, declarations: OptionDeclarations, { hasOwnConfig = false, showsAll }: AddOptions = {}): void {
  if (!hasOwnConfig) declaredOf.set(command, declarations)
  const all = Object.values(declarations)
  const isShort = !(showsAll ?? process.argv.includes('--help-all')) && all.some(({ isCommon }) => isCommon)
  for (const [key, declaration] of Object.entries(declarations)) {
    const { kind, short, help, choices, defaultText, isCommon } = declaration
    const value = kind.placeholder === undefined ? ' [true|false]' : ` <${kind.placeholder}>`
    const option = new Option(`${short ? `-${short}, ` : ''}--${flagName(key)}${value}`, shownHelp(help, choices))
    option.preset('true').env(environmentName(key))
    // For those who read the flags as data; what is given is checked by `parsedValue`.
    if (choices !== undefined) option.argChoices = [...choices]
    option.argParser((given: string, previous: unknown) => {
      const parsed = parsedValue(declaration, given)
      return Array.isArray(parsed) && Array.isArray(previous) && previous !== declaration.default ? [...previous, ...parsed] : parsed
    })
    const shown = defaultText ?? (Array.isArray(declaration.default) ? declaration.default.join(',') : declaration.default)
    option.default(declaration.default, shown === undefined || shown === '' ? undefined : String(shown))
    if (isShort && !isCommon) option.hideHelp()
    command.addOption(option)
  }
  // The short help is for people; which variable stands for a flag is in the long one.
  command.configureHelp({ optionTerm, optionDescription: (option) => optionDescription(option, !isShort) })
  const settings = 'take settings from this YAML or JSON file; flags and environment variables go first'
  command.option('--config <FILE>', hasOwnConfig ? "the component's configuration file; flags go first" : settings)
  const hidden = all.filter(({ isCommon }) => !isCommon).length
  if (!all.some(({ isCommon }) => isCommon)) return
  command.addOption(new Option('--help-all', `show ${hidden} more flags`))
  command.on('option:help-all', () => command.help())
}

/** `--name`, or `--name=false` for what is on. */
const optionTerm = ({ flags, defaultValue }: Option): string => flags.replace(' [true|false]', defaultValue === true ? '=false' : '')

function optionDescription({ description, defaultValue, defaultValueDescription, envVar, flags }: Option, showsVariable: boolean): string {
  const isSwitch = flags.endsWith('[true|false]')
  const shown = defaultValueDescription ?? (defaultValue === undefined || defaultValue === '' ? undefined : String(defaultValue))
  const notes = [
    ...(shown === undefined || isSwitch ? [] : [`default: ${shown}`]),
    ...(isSwitch && defaultValue === true ? ['on unless said'] : []),
    ...(showsVariable && envVar ? [`env: ${envVar}`] : []),
  ]
  return notes.length === 0 ? description : `${description} (${notes.join(', ')})`
}

const shownHelp = (help: string, choices: readonly string[] | undefined): string =>
  choices === undefined ? help : `${help} (one of ${choices.join(', ')})`

// biome-ignore lint/suspicious/noExplicitAny: a set of options has values of all types
function parsedValue({ choices, kind }: OptionDeclaration<any>, given: string): unknown {
  if (choices && !choices.includes(given)) throw new InvalidArgumentError(`Allowed are ${choices.join(', ')}.`)
  return kind.parse(given)
}

/**
 * Puts what a configuration file says in the place of defaults: flags and environment variables go first. Keys are spelled as the flags
 * are, or in camel case. Throws on keys that are no setting, and on values that are not allowed.
 */
export function applySettings(command: Command, file: Readonly<Record<string, unknown>>, path: string): void {
  const declarations = declaredOf.get(command) ?? {}
  for (const [name, given] of Object.entries(file)) {
    const key = name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
    const declaration = declarations[key]
    if (declaration === undefined)
      throw new Error(`${path} sets ${name}, which is not a setting of this command${nearest(name, declarations)}`)
    if (command.getOptionValueSource(key) !== 'default') continue
    try {
      const texts = Array.isArray(given) ? given.map(String) : [String(given)]
      const isList = Array.isArray(declaration.default)
      const values = texts.map((each) => parsedValue(declaration, each))
      command.setOptionValueWithSource(key, isList ? values.flat() : values[0], 'config')
    } catch (error) {
      throw new Error(`${path}: ${name}: ${String(given)}: ${error instanceof Error ? error.message : error}`)
    }
  }
}

/** Whether `--config` names a file of this program's settings. */
export const hasSettings = (command: Command): boolean => declaredOf.has(command)

/** The setting that was meant, perhaps. */
function nearest(name: string, declarations: OptionDeclarations): string {
  const flag = flagName(name)
  const found = Object.keys(declarations)
    .map((key) => [distance(flag, flagName(key)), flagName(key)] as const)
    .sort(([one], [other]) => one - other)[0]
  return found !== undefined && found[0] <= Math.max(2, flag.length / 4) ? `; did you mean ${found[1]}?` : '; see --help-all'
}

/** How many letters have to be changed. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (const [index, letter] of [...one].entries()) {
    const next = [index + 1]
    for (const [at, letterAt] of [...other].entries()) {
      next.push(Math.min((next[at] ?? 0) + 1, (row[at + 1] ?? 0) + 1, (row[at] ?? 0) + (letter === letterAt ? 0 : 1)))
    }
    row = next
  }
  return row.at(-1) ?? 0
}

/** The values in force: a flag before the environment, that before the configuration file, that before the default. */
export function optionValues<D extends OptionDeclarations>(command: Command, _declarations: D): OptionValues<D> {
  return { ...command.opts() } as OptionValues<D>
}

export { Command, type Option }
