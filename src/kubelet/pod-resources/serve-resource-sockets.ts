import { isPodFinished } from '#api/core/v1/pod/pod-state.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { Files } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import type { Metrics } from '#base/metrics.ts'
import type { ClaimManager } from '#kubelet/dra/claim-manager.ts'
import { servePodResources } from '#kubelet/pod-resources/pod-resources-server.ts'
import type { NodeResources } from '#kubelet/resources/node-resources.ts'

/** Of device plugins and of monitoring programs. Nobody waits for them: whoever wants to connect tries until they are there. */
export function serveResourceSockets(
  begun: AsyncDisposableStack,
  parts: { rootDirectory: string; resources: NodeResources; claims: ClaimManager; pods(): readonly V1Pod[] },
  { files, metrics, logger }: { files: Files; metrics: Metrics; logger: Logger },
): void {
  const served = servePodResources({ ...parts, files, metrics, isActive: (pod) => !isPodFinished(pod) })
  begun.defer(async () => (await served.catch(() => undefined))?.close())
  for (const serving of [parts.resources.devices.serve(), served]) {
    serving.catch((error: unknown) => logger.error('failed to serve sockets for devices and pod resources', { error: String(error) }))
  }
}
