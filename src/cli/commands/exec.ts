/** `kubectl exec` and `kubectl attach` */

import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import type { Call } from '#cli/call.ts'
import { CliError, PlainError } from '#cli/cli-error.ts'
import { hasManifests, readManifestsStrictly } from '#cli/resources/read-manifests.ts'
import { resourcePath } from '#cli/session/resource-types.ts'
import { meantContainer } from '#cli/streams/containers.ts'
import { converse } from '#cli/streams/conversation.ts'
import { detachKeyBytes, untilDetached } from '#cli/streams/detach-keys.ts'
import { podFor } from '#cli/streams/find-pod.ts'

export async function exec(call: Call): Promise<void> {
  const { args, argsBeforeDash } = call
  const fromFile = hasManifests(call)
  const what = fromFile ? '' : args[0]
  if (!fromFile && !what) throw new CliError('pod, type/name or --filename must be specified')
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

export const containerOf = (call: Call, pod: V1Pod): string =>
  meantContainer(call, pod, call.flags.text('container'), { isQuiet: call.flags.isOn('quiet'), needsAnnotated: true })

/** Ends with the exit code of the command. Returns whether it had the user's terminal. */
export async function talk(
  call: Call,
  pod: V1Pod,
  subresource: 'exec' | 'attach',
  container: string,
  command: readonly string[],
  { wantsTty = call.flags.isOn('tty') }: { wantsTty?: boolean } = {},
): Promise<boolean> {
  const { flags, host } = call
  const { terminal } = host
  const wantsInput = flags.isOn('stdin')
  let isTty = wantsTty && wantsInput
  if (isTty && !terminal.inputIsTerminal) {
    if (!flags.isOn('quiet')) host.complain('Unable to use a TTY - input is not a terminal or the right kind of file\n')
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
  const detached = new AbortController()
  const keys = isTty && flags.has('detach-keys') ? detachKeyBytes(flags.text('detach-keys')) : undefined
  const input = () => (keys === undefined ? terminal.input() : untilDetached(terminal.input(), keys, () => detached.abort()))
  const errorText = new TextDecoder()
  using _resize = isTty ? terminal.onResize(() => tell?.()) : undefined
  let tell: (() => void) | undefined
  if (isTty) terminal.setRawMode(true, { isTransparent: true })
  try {
    const code = await converse(call, {
      path,
      query,
      ...defined({ input: wantsInput ? input() : undefined }),
      signal: detached.signal,
      onOutput: (data) => host.write(data),
      onError: (data) => host.complain(errorText.decode(data, { stream: true })),
      onOpen(resize) {
        tell = () => resize(terminal.columns, terminal.rows)
        if (isTty) tell()
      },
    })
    if (code !== 0) throw new PlainError(`command terminated with exit code ${code}`, code)
    return isTty
  } finally {
    if (isTty) terminal.setRawMode(false)
  }
}

export async function attach(call: Call): Promise<void> {
  const { args } = call
  const [what] = args
  if (what === undefined) throw new CliError('at least 1 argument is required for attach')
  if (args.length > 2)
    throw new CliError(`expected POD, TYPE/NAME, or TYPE NAME, (at most 2 arguments) saw ${args.length}: [${args.join(' ')}]`)
  const pod = await podFor(call, args.length === 2 ? args.join('/') : what)
  checkPhase(pod, 'attach a container in')
  await attachTo(call, pod, attachedContainer(call, pod))
}

function attachedContainer(call: Call, pod: V1Pod): string {
  try {
    return containerOf(call, pod)
  } catch (error) {
    throw error instanceof CliError ? new CliError(`cannot attach to the container: ${error.message}`) : error
  }
}

/** The container may have ended before anybody could listen: then its log is all there is. */
export async function attachOrShowLog(call: Call, pod: V1Pod, container: string): Promise<void> {
  const { complain, interrupted } = call.host
  try {
    await attachTo(call, pod, container)
  } catch (error) {
    if (interrupted.aborted) throw error
    complain(`warning: couldn't attach to pod/${pod.metadata?.name}, falling back to streaming logs: ${(error as Error).message}\n`)
    await writeLog(call, pod, container)
  }
}

export async function writeLog({ host, session }: Call, { metadata }: V1Pod, container: string): Promise<void> {
  const rest = await session.rest
  const path = resourcePath({ group: '', version: 'v1', plural: 'pods' }, metadata?.namespace ?? '', metadata?.name ?? '', 'log')
  host.write(await rest.text({ path, query: { container }, accept: '*/*' }))
}

/** Whether there is a terminal is for the container to say: it has one or has none. */
async function attachTo(call: Call, pod: V1Pod, name: string): Promise<void> {
  const { flags, host } = call
  const { containers = [], initContainers = [], ephemeralContainers = [] } = pod.spec ?? {}
  const isEphemeral = ephemeralContainers.some((each) => each.name === name)
  const wantsTty = [...containers, ...initContainers, ...ephemeralContainers].find((each) => each.name === name)?.tty === true
  const isQuiet = flags.isOn('quiet')
  if (!isQuiet && flags.isOn('tty') && !wantsTty) host.complain(`error: Unable to use a TTY - container ${name} did not allocate one\n`)
  if (!isQuiet)
    host.complain(
      "All commands and output from this session will be recorded in container logs, including credentials and sensitive information passed through the command prompt.\nIf you don't see a command prompt, try pressing enter.\n",
    )
  const hadTerminal = await talk(call, pod, 'attach', name, [], { wantsTty })
  if (isQuiet || !hadTerminal) return
  const again = `'kubectl attach ${pod.metadata?.name} -c ${name} -n ${pod.metadata?.namespace} -i -t'`
  host.write(
    isEphemeral
      ? `Session ended, the ephemeral container will not be restarted but may be reattached using ${again} if it is still running\n`
      : `Session ended, resume using ${again} command\n`,
  )
}
