/** `kubectl logs` */
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { Call } from '#cli/call.ts'
import { ApiError, CliError, usageError } from '#cli/cli-error.ts'
import { missingResources } from '#cli/resources/select-resources.ts'
import { resourcePath } from '#cli/session/resource-types.ts'
import { allContainers, meantContainer } from '#cli/streams/containers.ts'
import { objectFor, podsBehind, podsOf } from '#cli/streams/find-pod.ts'
import { linesOf } from './get-watch.ts'

type Source = { pod: V1Pod; container: string }

export async function logs(call: Call): Promise<void> {
  const { flags } = call
  checkArguments(call)
  if (flags.durationMs('pod-running-timeout') <= 0) throw new CliError('--pod-running-timeout must be higher than zero')
  checkTime(flags.text('since-time'))
  const findPods = await podFinder(call)
  checkFlags(call)
  const sources = (await findPods()).flatMap((pod) => sourcesOf(call, pod))
  if (flags.isOn('follow') && sources.length > 1) {
    const limit = flags.number('max-log-requests')
    if (sources.length > limit)
      throw new CliError(
        `you are attempting to follow ${sources.length} log streams, but maximum allowed concurrency is ${limit}, use --max-log-requests to increase the limit`,
      )
    await Promise.all(sources.map((source) => print(call, source)))
    return
  }
  for (const source of sources) await print(call, source)
}

function checkArguments({ args, flags }: Call): void {
  const selector = flags.text('selector')
  if ((args.length === 0 && selector === '') || args.length > 2)
    throw usageError(
      'logs',
      "expected 'logs [-f] [-p] (POD | TYPE/NAME) [-c CONTAINER]'.\nPOD or TYPE/NAME is a required argument for the logs command",
    )
  if (args.length === 1 && selector !== '') throw usageError('logs', 'only a selector (-l) or a POD name is allowed')
}

/** The object is looked for before flags are checked, its pods after that. */
async function podFinder(call: Call): Promise<() => Promise<V1Pod[]>> {
  const { args, flags, host, session } = call
  const selector = flags.text('selector')
  const namespace = await session.namespace()
  if (selector !== '') {
    if (args.length > 0) throw new CliError('selectors and the all flag cannot be used when passing resource/name arguments')
    const pods = await podsOf(call, namespace, selector)
    if (pods.length === 0) host.complain(`No resources found in ${namespace} namespace.\n`)
    return async () => pods
  }
  const [what = ''] = args
  if (what === '') throw missingResources()
  const found = await objectFor(call, what, namespace).catch((error: unknown) => {
    if (!(error instanceof ApiError && error.isNotFound)) throw error
    throw new CliError(`error from server (NotFound): ${error.message} in namespace ${JSON.stringify(namespace)}`)
  })
  return () => podsBehind(call, found, { isAll: flags.isOn('all-pods') })
}

const containerArgument = ({ args, flags }: Call): string => (args.length === 2 ? (args[1] ?? '') : flags.text('container'))

function checkFlags(call: Call): void {
  const { args, flags } = call
  const named = containerArgument(call)
  if (flags.text('since-time') !== '' && flags.durationMs('since') !== 0)
    throw new CliError('at most one of `sinceTime` or `sinceSeconds` may be specified')
  if (flags.isOn('all-containers') && named !== '')
    throw new CliError(`--all-containers=true should not be specified with container name ${named}`)
  if (flags.isSet('container') && args.length === 2) throw new CliError('only one of -c or an inline [CONTAINER] arg is allowed')
  if (flags.number('limit-bytes') < 0) throw new CliError('--limit-bytes must be greater than 0')
  if (sinceSeconds(call) < 0) throw new CliError('--since must be greater than 0')
  if (flags.number('tail') < -1) throw new CliError('--tail must be greater than or equal to -1')
}

/** To the nearest second, halves away from zero. */
function sinceSeconds({ flags }: Call): number {
  const ms = flags.durationMs('since')
  return Math.sign(ms) * Math.round(Math.abs(ms) / 1000)
}

function checkTime(text: string): void {
  if (text === '' || /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/.test(text)) return
  // In Go's words: what it could not read, and which part of its pattern would have to stand there.
  const parts = ['2006', '-', '01', '-', '02', 'T', '15', ':', '04', ':', '05', 'Z07:00']
  const shapes = [/^\d{4}/, /^-/, /^\d\d/, /^-/, /^\d\d/, /^T/, /^\d\d/, /^:/, /^\d\d/, /^:/, /^\d\d(?:\.\d+)?/, /^(?:Z|[+-]\d\d:\d\d)/]
  let rest = text
  const at = shapes.findIndex((shape) => {
    const found = shape.exec(rest)?.[0]
    rest = rest.slice(found?.length ?? 0)
    return found === undefined
  })
  throw new CliError(
    `parsing time ${JSON.stringify(text)} as "2006-01-02T15:04:05Z07:00": cannot parse ${JSON.stringify(rest)} as ${JSON.stringify(parts[at] ?? '')}`,
  )
}

function sourcesOf(call: Call, pod: V1Pod): Source[] {
  if (call.flags.isOn('all-containers')) return allContainers(pod).map(({ name }) => ({ pod, container: name }))
  // Of many pods it goes without saying which container is meant.
  return [{ pod, container: meantContainer(call, pod, containerArgument(call), { isQuiet: call.flags.isOn('all-pods') }) }]
}

const retryMs = 1000

/** One that is followed may have to start yet: it is asked for again while time is left. */
async function print(call: Call, source: Source): Promise<void> {
  const { flags, host } = call
  const untilMs = host.clock.monotonic() + flags.durationMs('pod-running-timeout')
  for (;;) {
    try {
      return await printOnce(call, source)
    } catch (error) {
      if (host.interrupted.aborted) return
      const message = messageOf(error)
      if (flags.isOn('ignore-errors')) {
        host.write(`error: ${message}\n`)
        return
      }
      if (!flags.isOn('follow')) throw error
      host.complain(`${message}\n`)
      if (!(error instanceof ApiError)) throw new CliError(message)
      const leftMs = untilMs - host.clock.monotonic()
      await host.clock.sleep(Math.max(0, Math.min(retryMs, leftMs)), host.interrupted)
      if (leftMs <= retryMs) throw new CliError('context deadline exceeded')
    }
  }
}

/** What ended because of `--request-timeout` says so. */
const messageOf = (error: unknown): string => {
  const { message, name } = error as Error
  return name === 'AbortError' || name === 'TimeoutError' || message === 'aborted' ? 'context deadline exceeded' : message
}

async function printOnce(call: Call, { pod, container }: Source): Promise<void> {
  const { flags, host, session } = call
  const rest = await session.rest
  const { namespace = '', name = '' } = pod.metadata ?? {}
  const tail = !flags.isSet('tail') && flags.text('selector') !== '' ? 10 : flags.number('tail')
  const response = await rest.open({
    path: resourcePath({ group: '', version: 'v1', plural: 'pods' }, namespace, name, 'log'),
    query: {
      container,
      follow: flags.isOn('follow') ? 'true' : undefined,
      previous: flags.isOn('previous') ? 'true' : undefined,
      timestamps: flags.isOn('timestamps') ? 'true' : undefined,
      sinceTime: flags.text('since-time'),
      sinceSeconds: flags.durationMs('since') === 0 ? undefined : sinceSeconds(call),
      tailLines: tail >= 0 ? tail : undefined,
      limitBytes: flags.number('limit-bytes') || undefined,
      insecureSkipTLSVerifyBackend: flags.isOn('insecure-skip-tls-verify-backend') ? 'true' : undefined,
    },
    accept: '*/*',
    signal: host.interrupted,
  })
  if (flags.isOn('prefix') || flags.isOn('all-pods'))
    for await (const line of linesOf(response.chunks())) host.write(`[pod/${name}/${container}] ${line}\n`)
  else for await (const chunk of response.chunks()) host.write(chunk)
}
