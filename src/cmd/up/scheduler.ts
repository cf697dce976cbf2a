/** The scheduler of a cluster in one process: it reaches the API server without a socket. */
import { inProcess } from '#apiserver/http/in-process-exchange.ts'
import { TrustedConnection } from '#apiserver/http/trusted-connection.ts'
import type { RunningApiServer } from '#apiserver/run-api-server.ts'
import type { Stage } from '#base/lifecycle.ts'
import { thisMachine } from '#base/machine.ts'
import { Client } from '#client/client.ts'
import { inProcessTransport } from '#client/in-process-transport.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import { kubernetesVersion } from '#cmd/version.ts'
import { defaultConfiguration } from '#scheduler/config/configuration.ts'
import { openScheduler } from '#scheduler/run-scheduler.ts'

/** Nobody else can lead inside this process, so there is no election. Resolves when the scheduler knows the cluster. */
export async function startScheduler(stage: Stage, { server }: RunningApiServer, { clock, random, logger }: ClusterSeams): Promise<void> {
  const connection = new TrustedConnection({ name: 'system:kube-scheduler', groups: [], extra: {} })
  const transport = inProcessTransport(inProcess(server.handler.handle, connection))
  const client = new Client({ transport, userAgent: `kube-scheduler/${kubernetesVersion}` })
  const opened = openScheduler({
    client,
    clock,
    random,
    logger: logger.with({ component: 'kube-scheduler' }),
    configuration: defaultConfiguration(),
    instance: thisMachine().hostname,
  })
  stage.defer(() => opened.stop())
  await opened.follow(stage.signal)
  const isOver = new AbortController()
  const leading = opened.lead(isOver.signal)
  stage.defer(async () => {
    isOver.abort()
    await leading
  })
}
