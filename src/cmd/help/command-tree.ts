/** Every command with its flags, as data: what man pages, completion and the list of settings are made of. */
import { defined } from '#base/defined.ts'
import { Command, type Option } from '#base/options.ts'
import { commands } from '#cmd/commands.ts'

export type DescribedFlag = {
  /** `--data-dir` */
  long: string
  /** `-d` */
  short?: string
  /** What stands for the value; undefined for switches. */
  placeholder?: string
  choices: readonly string[]
  help: string
  defaultText: string
  variable?: string
  isCommon: boolean
}

export type DescribedCommand = {
  /** `up`, or `snapshot save`. */
  name: string
  summary: string
  /** `[name]`, `<files...>` */
  arguments: readonly { name: string; help: string; isRequired: boolean; isRepeated: boolean }[]
  flags: readonly DescribedFlag[]
  commands: readonly DescribedCommand[]
}

export async function commandTree(): Promise<DescribedCommand[]> {
  return Promise.all(
    commands.map(async ({ name, summary, load }) => {
      const command = new Command(name).description(summary)
      ;(await load())(command)
      return described(command, name)
    }),
  )
}

function described(command: Command, name: string): DescribedCommand {
  return {
    name,
    summary: command.description(),
    arguments: command.registeredArguments.map((argument) => ({
      name: argument.name(),
      help: argument.description,
      isRequired: argument.required,
      isRepeated: argument.variadic,
    })),
    flags: command.options.filter(({ long }) => long !== undefined && long !== '--help-all').map(describedFlag),
    commands: command.commands.map((each) => described(each, `${name} ${each.name()}`)),
  }
}

function describedFlag(option: Option): DescribedFlag {
  const { long = '', short, flags, description, defaultValueDescription, envVar, argChoices, hidden } = option
  const placeholder = /<([^<>]+)>/.exec(flags)?.[1]
  return {
    long,
    ...defined({ short, placeholder }),
    choices: argChoices ?? [],
    help: description,
    defaultText: placeholder === undefined ? String(option.defaultValue === true) : (defaultValueDescription ?? ''),
    ...defined({ variable: envVar }),
    isCommon: !hidden,
  }
}

/** Flags whose value is a path that the shell can complete. */
export const takesPath = ({ placeholder }: DescribedFlag): boolean =>
  placeholder === 'FILE' || placeholder === 'DIR' || placeholder === 'PATH'

/** Commands that take the name of a cluster. */
export const takesClusterName = (command: DescribedCommand): boolean => command.arguments[0]?.name === 'name' && command.name !== 'new'
