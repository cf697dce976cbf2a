/** Volumes for simulated nodes: a class, and the loops that make and attach what is asked of it. */
import { isAlreadyExists } from '#api/meta/server-response.ts'
import { CSIDriver, StorageClass } from '#api/storage/v1/kinds.gen.ts'
import type { RunningApiServer } from '#apiserver/run-api-server.ts'
import type { Stage } from '#base/lifecycle.ts'
import type { Client } from '#client/client.ts'
import { clientInProcess } from '#cmd/all-in-one/client-in-process.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import { runControllers } from '#controllers/runtime/run-controllers.ts'
import { SimulatedVolumes, simulatedDriver } from '#controllers/simulated-volumes/simulated-volumes.ts'
import { volumeDriverControllers } from '#controllers/volume-driver/volume-driver-controllers.ts'

/** Resolves when the class is there. Nobody waits for the loops: claims do, if there are any. */
export async function startSimulatedVolumes(
  stage: Stage,
  apiServer: RunningApiServer,
  { isDefault }: { isDefault: boolean },
  { clock, random, logger }: ClusterSeams,
): Promise<void> {
  const client = clientInProcess(apiServer, 'typernetes:simulated-volumes', ['system:masters'])
  const log = logger.with({ component: 'simulated-volumes' })
  const stop = new AbortController()
  await declare(client, isDefault)
  const controllers = [volumeDriverControllers(new SimulatedVolumes({ clock }))]
  const running = runControllers({ client, controllers, signal: stop.signal, clock, random, logger: log }).catch((error: unknown) => {
    if (!stop.signal.aborted) log.error('simulated volumes ended', { error: String(error) })
  })
  stage.defer(async () => {
    stop.abort()
    await running
  })
}

/** What is there already is the user's. */
async function declare(client: Client, isDefault: boolean): Promise<void> {
  const annotations = isDefault ? { 'storageclass.kubernetes.io/is-default-class': 'true' } : {}
  const storageClass = { metadata: { name: 'simulated', annotations }, provisioner: simulatedDriver, allowVolumeExpansion: true }
  const driver = { metadata: { name: simulatedDriver }, spec: { attachRequired: true, podInfoOnMount: false } }
  const isThere = (error: unknown) => {
    if (!isAlreadyExists(error)) throw error
  }
  await client.create(CSIDriver, driver).catch(isThere)
  await client.create(StorageClass, storageClass).catch(isThere)
}
