/** `kubectl run -it`: waits until the pod runs, talks to it, and ends as it ends. */
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { talk } from '#cli/commands/exec.ts'
import { resourcePath } from '#cli/session/resource-types.ts'

export async function runAttached(call: Call, object: ApiObject): Promise<void> {
  const { flags, host, session } = call
  const rest = await session.rest
  const { namespace = '', name = '' } = object.metadata ?? {}
  const pod = object as unknown as V1Pod
  const path = resourcePath({ group: '', version: 'v1', plural: 'pods' }, namespace, name)
  const untilMs = host.clock.monotonic() + flags.durationMs('pod-running-timeout')
  const container = pod.spec?.containers[0]?.name ?? ''
  const phaseOf = async () => (await rest.json<V1Pod>({ path })).status
  let status = await phaseOf()
  while (status?.phase === 'Pending' || status?.phase === undefined) {
    if (host.clock.monotonic() > untilMs) throw new CliError('timed out waiting for the condition')
    await host.clock.sleep(250, host.interrupted)
    status = await phaseOf()
  }
  if (status.phase === 'Running') {
    if (flags.isOn('stdin') && !flags.isOn('quiet')) host.complain("If you don't see a command prompt, try pressing enter.\n")
    await talk(call, pod, 'attach', container, [])
  } else host.write(await rest.text({ path: `${path}/log`, query: { container }, accept: '*/*' }))
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
