/** Storage that works at once: the default class, and what CSI drivers would otherwise need sidecars for. */

import { isAlreadyExists } from '#api/meta/server-response.ts'
import type { RunningApiServer } from '#apiserver/run-api-server.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Stage } from '#base/lifecycle.ts'
import { clientInProcess } from '#cmd/all-in-one/client-in-process.ts'
import type { ClusterSeams } from '#cmd/up/cluster.ts'
import { localCaller, localDriverName } from '#controllers/csi/local-caller.ts'
import { ensureLocalStorage, localStorageController } from '#controllers/csi/local-storage.ts'
import { RegisteredDrivers } from '#controllers/csi/registered-drivers.ts'
import { installDefinitions } from '#controllers/kit/install-definitions.ts'
import { ControllerManager } from '#controllers/runtime/controller-manager.ts'
import { defaultSettings } from '#controllers/runtime/settings.ts'
import { snapshotContentController } from '#controllers/volume-snapshot/content-controller.ts'
import { snapshotResources, VolumeSnapshotClass } from '#controllers/volume-snapshot/definitions.ts'
import { volumeSnapshotController } from '#controllers/volume-snapshot/snapshot-controller.ts'
import { defaultClassAnnotation } from '#controllers/volume-snapshot/snapshot-finalizers.ts'

/** Resolves when claims are served. Snapshots follow, since nobody waits for them. */
export async function startStorage(
  stage: Stage,
  apiServer: RunningApiServer,
  options: { isDefault: boolean },
  { clock, random, logger: root }: ClusterSeams,
): Promise<void> {
  const client = clientInProcess(apiServer, 'typernetes:storage', ['system:masters'])
  const logger = root.with({ component: 'storage' })
  await ensureLocalStorage(client, options)
  const seams = { client, clock, random, logger }
  const drivers = new RegisteredDrivers(seams)
  stage.defer(() => drivers[Symbol.asyncDispose]())
  const manager = new ControllerManager({ ...seams, controllers: [localStorageController({ client })], settings: defaultSettings })
  stage.defer(() => manager.stop())
  await manager.start(stage.signal)
  drivers.start()

  const callerOf = (driver: string) => (driver === localDriverName ? localCaller({ client }) : drivers.snapshotCaller(driver))
  const controllers = [volumeSnapshotController(), snapshotContentController(callerOf)]
  const snapshots = new ControllerManager({ ...seams, controllers, settings: defaultSettings })
  stage.defer(() => snapshots.stop())
  const begin = async () => {
    await installDefinitions(client, snapshotResources, { clock, signal: stage.signal })
    await ensureSnapshotClass()
    await snapshots.start(stage.signal)
  }
  const ensureSnapshotClass = async () => {
    const metadata = { name: 'standard', annotations: { [defaultClassAnnotation]: 'true' } }
    await client.create(VolumeSnapshotClass, { metadata, driver: localDriverName, deletionPolicy: 'Delete' }).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error
    })
  }
  begin().catch((error: unknown) => {
    if (!stage.signal.aborted) logger.error('failed to start the snapshot controller', { error: errorMessage(error) })
  })
}
