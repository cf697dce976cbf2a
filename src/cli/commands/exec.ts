/** `kubectl exec` and `kubectl attach` */
import type { V1Container, V1Pod } from '#api/core/v1/types.gen.ts'
import type { Call } from '#cli/call.ts'
import { CliError, PlainError } from '#cli/cli-error.ts'
import { hasManifests, readManifestsStrictly } from '#cli/resources/read-manifests.ts'
import { resourcePath } from '#cli/session/resource-types.ts'
import { converse } from '#cli/streams/conversation.ts'
import { podFor } from '#cli/streams/find-pod.ts'
import { defaultContainer } from './logs.ts'

export async function exec(call: Call): Promise<void> {
  const { args, argsBeforeDash } = call
  const fromFile = hasManifests(call)
  const what = fromFile ? '' : args[0]
  if (!fromFile && what === undefined) throw new CliError('pod, type/name or --filename must be specified')
  const command = argsBeforeDash === undefined ? (fromFile ? args : args.slice(1)) : args.slice(argsBeforeDash)
  if (argsBeforeDash === undefined && command.length > 0)
    throw new CliError(
      "exec [POD] [COMMAND] is not supported anymore. Use exec [POD] -- [COMMAND] instead\nSee 'kubectl exec -h' for help and examples",
    )
  if (command.length === 0) throw new CliError('you must specify at least one command for the container')
  const pod = await podFor(call, fromFile ? await named(call) : (what ?? ''))
  checkPhase(pod, 'exec into a container in')
  const container = containerOf(call, pod)
  await talk(call, pod, 'exec', container, command)
}

async function named(call: Call): Promise<string> {
  const [info] = await readManifestsStrictly(call)
  if (info === undefined) throw new CliError('no objects passed to exec')
  return `${info.type.plural}/${info.name}`
}

function checkPhase({ status }: V1Pod, what: string): void {
  if (status?.phase === 'Succeeded' || status?.phase === 'Failed')
    throw new CliError(`cannot ${what} a completed pod; current phase is ${status.phase}`)
}

export function containerOf(call: Call, pod: V1Pod): string {
  const { spec, metadata } = pod
  const all: V1Container[] = [
    ...(spec?.containers ?? []),
    ...(spec?.initContainers ?? []),
    ...((spec?.ephemeralContainers ?? []) as V1Container[]),
  ]
  const wanted = call.flags.text('container')
  if (wanted === '') return defaultContainer(call, pod, all)
  if (!all.some(({ name }) => name === wanted))
    throw new CliError(`container ${wanted} is not valid for pod ${metadata?.name} out of: ${all.map(({ name }) => name).join(', ')}`)
  return wanted
}

/** Ends with the exit code of the command. */
export async function talk(
  call: Call,
  pod: V1Pod,
  subresource: 'exec' | 'attach',
  container: string,
  command: readonly string[],
): Promise<void> {
  const { flags, host } = call
  const { terminal } = host
  const wantsInput = flags.isOn('stdin')
  let isTty = flags.isOn('tty')
  if (isTty && !wantsInput) isTty = false
  if (isTty && !terminal.inputIsTerminal) {
    host.complain('Unable to use a TTY - input is not a terminal or the right kind of file\n')
    isTty = false
  }
  const path = resourcePath(
    { group: '', version: 'v1', plural: 'pods' },
    pod.metadata?.namespace ?? '',
    pod.metadata?.name ?? '',
    subresource,
  )
  const query = {
    command,
    container,
    stdin: wantsInput ? 'true' : undefined,
    stdout: 'true',
    stderr: isTty ? undefined : 'true',
    tty: isTty ? 'true' : undefined,
  }
  using _resize = isTty ? terminal.onResize(() => tell?.()) : undefined
  let tell: (() => void) | undefined
  if (isTty) terminal.setRawMode(true)
  try {
    const code = await converse(call, {
      path,
      query,
      ...(wantsInput ? { input: terminal.input() } : {}),
      onOutput: (data) => host.write(data),
      onError: (data) => host.complain(Buffer.from(data).toString()),
      onOpen(resize) {
        tell = () => resize(terminal.columns, terminal.rows)
        if (isTty) tell()
      },
    })
    if (code !== 0) throw new PlainError(`command terminated with exit code ${code}`, code)
  } finally {
    if (isTty) terminal.setRawMode(false)
  }
}

export async function attach(call: Call): Promise<void> {
  const { args, flags, host } = call
  const [what] = args
  if (what === undefined) throw new CliError('at least 1 argument is required for attach')
  if (args.length > 2)
    throw new CliError(`expected POD, TYPE/NAME, or TYPE NAME, (at most 2 arguments) saw ${args.length}: [${args.join(' ')}]`)
  const pod = await podFor(call, args.length === 2 ? args.join('/') : what)
  checkPhase(pod, 'attach a container in')
  const container = containerOf(call, pod)
  if (flags.isOn('stdin') && !flags.isOn('quiet')) host.complain("If you don't see a command prompt, try pressing enter.\n")
  await talk(call, pod, 'attach', container, [])
}
