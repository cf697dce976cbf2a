/** `kubectl logs` */
import type { V1Container, V1Pod } from '#api/core/v1/types.gen.ts'
import type { Call } from '#cli/call.ts'
import { ApiError, CliError, usageError } from '#cli/cli-error.ts'
import { resourcePath } from '#cli/session/resource-types.ts'
import { podsFor } from '#cli/streams/find-pod.ts'
import { linesOf } from './get-watch.ts'

type Source = { pod: V1Pod; container: string }

export async function logs(call: Call): Promise<void> {
  const { args, flags, host } = call
  const selector = flags.text('selector')
  if (args.length === 0 && selector === '')
    throw usageError(
      'logs',
      "expected 'logs [-f] [-p] (POD | TYPE/NAME) [-c CONTAINER]'.\nPOD or TYPE/NAME is a required argument for the logs command",
    )
  if (args.length > 0 && selector !== '') throw usageError('logs', 'only a selector (-l) or a POD name is allowed')
  if (args.length > 2)
    throw usageError(
      'logs',
      "expected 'logs [-f] [-p] (POD | TYPE/NAME) [-c CONTAINER]'.\nPOD or TYPE/NAME is a required argument for the logs command",
    )
  const isAll = flags.isOn('all-containers')
  const named = flags.text('container') || (args.length === 2 ? (args[1] ?? '') : '')
  if (flags.text('container') !== '' && args.length === 2)
    throw usageError('logs', 'only one of -c or an inline [CONTAINER] arg is allowed')
  if (isAll && named !== '') throw new CliError(`--all-containers=true should not be specified with container name ${named}`)
  if (flags.text('since-time') !== '' && flags.durationMs('since') !== 0)
    throw new CliError('at most one of `sinceTime` or `sinceSeconds` may be specified')
  if (flags.number('tail') < -1) throw new CliError('--tail must be greater than or equal to -1')
  const pods = await podsFor(call, { what: args[0] ?? '', selector, isAll: flags.isOn('all-pods') }).catch(async (error: unknown) => {
    if (!(error instanceof ApiError && error.isNotFound)) throw error
    throw new CliError(`error from server (NotFound): ${error.message} in namespace ${JSON.stringify(await call.session.namespace())}`)
  })
  const sources = pods.flatMap((pod) => sourcesOf(call, pod, named, isAll))
  if (pods.length === 0) {
    host.complain(`No resources found in ${await call.session.namespace()} namespace.\n`)
    return
  }
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

function sourcesOf(call: Call, pod: V1Pod, named: string, isAll: boolean): Source[] {
  const { spec } = pod
  const all: V1Container[] = [
    ...(spec?.initContainers ?? []),
    ...(spec?.containers ?? []),
    ...((spec?.ephemeralContainers ?? []) as V1Container[]),
  ]
  if (isAll) return all.map(({ name }) => ({ pod, container: name }))
  if (named !== '') {
    if (!all.some(({ name }) => name === named))
      throw new CliError(`container ${named} is not valid for pod ${pod.metadata?.name} out of: ${all.map(({ name }) => name).join(', ')}`)
    return [{ pod, container: named }]
  }
  return [{ pod, container: defaultContainer(call, pod, all) }]
}

/** The annotated one, else the first, with a word about it where there are several. */
export function defaultContainer({ host, flags }: Call, { metadata, spec }: V1Pod, all: readonly V1Container[]): string {
  const annotated = metadata?.annotations?.['kubectl.kubernetes.io/default-container']
  if (annotated && all.some(({ name }) => name === annotated)) return annotated
  const [first] = spec?.containers ?? []
  const isQuiet = flags.has('quiet') && flags.isOn('quiet')
  if (all.length > 1 && !isQuiet) {
    const names = (spec?.containers ?? []).map(({ name }) => name)
    const others = [
      ...names,
      ...(spec?.ephemeralContainers ?? []).map(({ name }) => `${name} (ephem)`),
      ...(spec?.initContainers ?? []).map(({ name }) => `${name} (init)`),
    ]
    host.complain(`Defaulted container ${JSON.stringify(first?.name)} out of: ${others.join(', ')}\n`)
  }
  return first?.name ?? ''
}

async function print(call: Call, { pod, container }: Source): Promise<void> {
  const { flags, host, session } = call
  const rest = await session.rest
  const { namespace = '', name = '' } = pod.metadata ?? {}
  const tail = flags.isSet('tail') ? flags.number('tail') : flags.text('selector') !== '' || flags.isOn('all-pods') ? 10 : -1
  const sinceMs = flags.durationMs('since')
  const query = {
    container,
    follow: flags.isOn('follow') ? 'true' : undefined,
    previous: flags.isOn('previous') ? 'true' : undefined,
    timestamps: flags.isOn('timestamps') ? 'true' : undefined,
    sinceTime: flags.text('since-time'),
    sinceSeconds: sinceMs > 0 ? Math.ceil(sinceMs / 1000) : undefined,
    tailLines: tail >= 0 ? tail : undefined,
    limitBytes: flags.number('limit-bytes') || undefined,
    insecureSkipTLSVerifyBackend: flags.isOn('insecure-skip-tls-verify-backend') ? 'true' : undefined,
  }
  const untilMs = host.clock.monotonic() + flags.durationMs('pod-running-timeout')
  for (;;) {
    try {
      const response = await rest.open({
        path: resourcePath({ group: '', version: 'v1', plural: 'pods' }, namespace, name, 'log'),
        query,
        accept: '*/*',
        signal: host.interrupted,
      })
      if (!flags.isOn('prefix')) {
        for await (const chunk of response.chunks()) host.write(chunk)
      } else for await (const line of linesOf(response.chunks())) host.write(`[pod/${name}/${container}] ${line}\n`)
      return
    } catch (error) {
      if (host.interrupted.aborted) return
      const isWaiting =
        error instanceof ApiError &&
        /waiting to start|ContainerCreating/.test(error.message) &&
        flags.isOn('follow') &&
        host.clock.monotonic() < untilMs &&
        flags.isSet('pod-running-timeout')
      if (isWaiting) await host.clock.sleep(500, host.interrupted)
      else if (flags.isOn('ignore-errors')) {
        host.write(`error: ${(error as Error).message}\n`)
        return
      } else throw error
    }
  }
}
