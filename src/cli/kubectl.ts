/** kubectl: from arguments to an exit code. */

import { ApiError, CliError, errorText, PlainError } from './cli-error.ts'
import { commandModules } from './commands.ts'
import { type CommandSpec, childrenOf } from './flags/command-spec.ts'
import { findCommand, parseCommandLine, similarCommands } from './flags/parse-command-line.ts'
import { requiredFlags } from './flags/required-flags.ts'
import type { Host } from './host.ts'
import { Session } from './session/session.ts'

/** Never throws what a user could have caused; everything is said on `host`. */
export async function runKubectl(args: readonly string[], host: Host): Promise<number> {
  try {
    // What is being typed is no command line yet: its flags are not ours.
    if (args[0] === '__complete' || args[0] === '__completeNoDesc') {
      const { complete } = await import('./completion/complete.ts')
      await complete(args.slice(1), host, { hasDescriptions: args[0] === '__complete' })
      return 0
    }
    const { applyKuberc } = needsKuberc(host) ? await import('./kuberc.ts') : { applyKuberc: undefined }
    const given = applyKuberc === undefined ? args : await applyKuberc(args, host)
    const found = findCommand(given)
    const isNone = found.command.path === '' && found.word !== undefined
    if (isNone || (found.command.path === 'create' && given[0] === 'create' && !(given[1] ?? '-').startsWith('-'))) {
      const { runPlugin } = await import('./plugins.ts')
      const code = await runPlugin(given, host)
      if (code !== undefined) return code
    }
    return await runCommand(given, host)
  } catch (error) {
    if (host.interrupted.aborted) return 130
    host.complain(errorText(error))
    if (host.environment['TYPERNETES_DEBUG'] && error instanceof Error) host.complain(`${error.stack}\n`)
    return error instanceof CliError ? error.exitCode : 1
  }
}

const needsKuberc = ({ environment }: Host): boolean => environment['KUBECTL_KUBERC'] !== 'false' && environment['KUBERC'] !== 'off'

async function runCommand(args: readonly string[], host: Host): Promise<number> {
  const line = parseCommandLine(args, (text) => host.complain(`${text}\n`))
  const { command, flags } = line
  // A command that is none has no help, either; a flag before it may have taken its name for a value.
  if (command.path === '' && findCommand(args).word !== undefined) throw unknownCommand(line.args[0] ?? '')
  if (line.wantsHelp || (command.path === '' && line.args.length === 0)) {
    const { helpText } = await import('./help/help.ts')
    host.write(helpText(command))
    return 0
  }
  const session = new Session(flags.except(command.flags.map(({ name }) => name)), host, command.path)
  const load = commandModules[command.path]
  if (load === undefined) return showGroup(command, line.args, host)
  const missing = requiredFlags[command.path]?.filter((name) => !flags.isSet(name)) ?? []
  if (missing.length > 0) throw new CliError(`required flag(s) ${missing.map((name) => `"${name}"`).join(', ')} not set`)
  try {
    await (await load())({ ...line, host, session })
  } catch (error) {
    if (error instanceof ApiError)
      (await session.log())?.say(4, 'helpers.go:246', `server response object: %s[${JSON.stringify(error.status, null, 2)}]`)
    throw error
  }
  if (flags.isOn('warnings-as-errors') && session.warnings > 0)
    throw new CliError(`${session.warnings} warning${session.warnings === 1 ? '' : 's'} received`)
  return 0
}

/** A command that is only a heading for others. */
async function showGroup(command: CommandSpec, args: readonly string[], host: Host): Promise<number> {
  if (command.path === 'certificate' || (command.path === 'rollout' && args.length === 0)) {
    const { helpText } = await import('./help/help.ts')
    host.write(helpText(command))
    return command.path === 'certificate' ? 0 : 1
  }
  if (args.length > 0)
    throw new CliError(`unknown command ${JSON.stringify(args.join(' '))}\nSee 'kubectl ${command.path} -h' for help and examples`)
  if (childrenOf(command.path).length === 0) throw new CliError(`kubectl ${command.path} is only a heading`)
  const { helpText } = await import('./help/help.ts')
  host.complain(helpText(command))
  return 1
}

function unknownCommand(word: string): PlainError {
  const similar = similarCommands(word)
  const suggestion = similar.length === 0 ? '' : `\n\nDid you mean this?\n${similar.map((each) => `\t${each}\n`).join('')}`
  return new PlainError(`error: unknown command ${JSON.stringify(word)} for "kubectl"${suggestion.replace(/\n$/, '')}`)
}
