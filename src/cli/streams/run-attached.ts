/** `kubectl run -it`: waits until the pod runs, talks to it, and ends as it ends. */
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { attachOrShowLog, writeLog } from '#cli/commands/exec.ts'
import { resourcePath } from '#cli/session/resource-types.ts'
import { podFor } from './find-pod.ts'

type Status = V1Pod['status']

const isCompleted = (status: Status): status is NonNullable<Status> => status?.phase === 'Succeeded' || status?.phase === 'Failed'
const isReady = (status: Status): boolean =>
  status?.phase === 'Running' && (status.conditions ?? []).some(({ type, status }) => type === 'Ready' && status === 'True')

export async function runAttached(call: Call, object: ApiObject): Promise<void> {
  const { flags, host, session } = call
  const rest = await session.rest
  // Of a workload the first of its pods is talked to.
  const pod = object.kind === 'Pod' ? (object as unknown as V1Pod) : await podFor(call, `${object.kind}/${object.metadata?.name}`)
  const { namespace = '', name = '' } = pod.metadata ?? {}
  const path = resourcePath({ group: '', version: 'v1', plural: 'pods' }, namespace, name)
  const untilMs = host.clock.monotonic() + flags.durationMs('pod-running-timeout')
  const container = pod.spec?.containers[0]?.name ?? ''
  const phaseOf = async () => (await rest.json<V1Pod>({ path })).status
  let status = await phaseOf()
  while (!isCompleted(status) && !isReady(status)) {
    if (host.clock.monotonic() > untilMs) throw new CliError('timed out waiting for the condition')
    await host.clock.sleep(250, host.interrupted)
    status = await phaseOf()
  }
  if (isCompleted(status)) await writeLog(call, pod, container)
  else {
    // What it has written until now.
    await writeLog(call, pod, container).catch((error: Error) =>
      host.complain(`warning: couldn't fetch pre-attach logs: ${error.message}\n`),
    )
    await attachOrShowLog(call, pod, container)
  }
  if (flags.isOn('leave-stdin-open') || !['Never', 'OnFailure'].includes(flags.text('restart'))) return
  for (status = await phaseOf(); status?.phase === 'Running'; status = await phaseOf()) {
    if (host.clock.monotonic() > untilMs) throw new CliError(`pod ${namespace}/${name} left in phase ${status.phase}`)
    await host.clock.sleep(250, host.interrupted)
  }
  if (status?.phase === 'Succeeded') return
  const terminated = status?.containerStatuses?.[0]?.state?.terminated
  if (terminated === undefined) throw new CliError(`pod ${namespace}/${name} failed with unknown exit code`)
  throw new CliError(`pod ${namespace}/${name} terminated (${terminated.reason ?? ''})\n${terminated.message ?? ''}`, terminated.exitCode)
}
