/** `/run/NAMESPACE/POD/CONTAINER?cmd=…`: runs a command to its end, and answers with what it wrote. */
import type { HttpExchange } from '#base/http-server.ts'
import type { ServerParts } from '#kubelet/server/kubelet-server.ts'
import { Refusal } from '#kubelet/server/refusal.ts'

const limitMs = 2 * 60_000

export async function run(
  exchange: HttpExchange,
  { namespace, name, container, query }: { namespace: string; name: string; container: string; query: URLSearchParams },
  { findPod, runtime }: ServerParts,
): Promise<void> {
  const pod = findPod(namespace, name)
  if (pod === undefined) throw new Refusal(404, 'pod does not exist')
  const { containers } = await runtime.observe(pod.metadata.uid ?? '')
  const running = containers.find((each) => each.name === container && each.state === 'running')
  if (running === undefined) throw new Refusal(500, `container not found ("${container}")`)
  const { exitCode, stdout, stderr } = await runtime.exec(running.id, (query.get('cmd') ?? '').split(' '), limitMs)
  if (exitCode !== 0) throw new Refusal(500, `command '${query.get('cmd') ?? ''}' exited with ${exitCode}: ${stderr}`)
  exchange.respond(200, { 'content-type': 'application/json' }, stdout + stderr)
}
