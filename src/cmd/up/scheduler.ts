/** The scheduler of a cluster in one process: it reaches the API server without a socket. */
import { FeatureGates } from '#api/meta/feature-gates.ts'
import { inProcess } from '#apiserver/http/in-process-exchange.ts'
import { TrustedConnection } from '#apiserver/http/trusted-connection.ts'
import type { RunningApiServer } from '#apiserver/run-api-server.ts'
import type { Stage } from '#base/lifecycle.ts'
import { thisMachine } from '#base/machine.ts'
import { Client } from '#client/client.ts'
import { inProcessTransport } from '#client/in-process-transport.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import { leadUntilOver } from '#cmd/up/lead-until-over.ts'
import { kubernetesVersion } from '#cmd/version.ts'
import { defaultConfiguration } from '#scheduler/config/configuration.ts'
import { openScheduler } from '#scheduler/run-scheduler.ts'

/** Nobody else can lead inside this process, so there is no election. Resolves when the scheduler knows the cluster. */
export async function startScheduler(
  stage: Stage,
  { server }: RunningApiServer,
  { clock, random, logger }: ClusterSeams,
  featureGates: readonly string[] = [],
): Promise<void> {
  const connection = new TrustedConnection({ name: 'system:kube-scheduler', groups: [], extra: {} })
  const transport = inProcessTransport(inProcess(server.handler.handle, connection))
  const client = new Client({ transport, userAgent: `kube-scheduler/${kubernetesVersion}` })
  const opened = openScheduler({
    client,
    clock,
    random,
    logger: logger.with({ component: 'kube-scheduler' }),
    configuration: defaultConfiguration(),
    isEnabled: new FeatureGates(featureGates.join(',')).isEnabled,
    instance: thisMachine().hostname,
  })
  await leadUntilOver(stage, opened)
}
