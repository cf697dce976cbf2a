/** Storage that works at once: the default class, and what CSI drivers would otherwise need sidecars for. */
import { ignoreAlreadyExists } from '#api/meta/server-response.ts'
import type { Clock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
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

export type StorageOptions = {
  client: Client
  clock: Clock
  random: Random
  logger: Logger
  /** Whether the class becomes the default one where no other is. */
  isDefault: boolean
  /** Ends all of it, whether it has begun or not. */
  signal: AbortSignal
}

/** Resolves when claims are served. Snapshots follow, since nobody waits for them. Whatever has begun ends with `stack`. */
export async function startStorage(stack: AsyncDisposableStack, options: StorageOptions): Promise<void> {
  const { client, clock, random, logger, signal, isDefault } = options
  await ensureLocalStorage(client, { isDefault })
  const seams = { client, clock, random, logger, settings: defaultSettings }
  const drivers = stack.use(new RegisteredDrivers(seams))
  const manager = new ControllerManager({ ...seams, controllers: [localStorageController({ client, clock })] })
  stack.defer(() => manager.stop())
  await manager.start(signal)
  drivers.start()

  const callerOf = (driver: string) => (driver === localDriverName ? localCaller({ client, clock }) : drivers.snapshotCaller(driver))
  const snapshots = new ControllerManager({ ...seams, controllers: [volumeSnapshotController(), snapshotContentController(callerOf)] })
  stack.defer(() => snapshots.stop())
  const begin = async () => {
    await installDefinitions(client, snapshotResources, { clock, signal })
    await ensureSnapshotClass(client)
    await snapshots.start(signal)
  }
  begin().catch((error: unknown) => {
    if (!signal.aborted) logger.error('failed to start the snapshot controller', { error: errorMessage(error) })
  })
}

async function ensureSnapshotClass(client: Client): Promise<void> {
  const metadata = { name: 'standard', annotations: { [defaultClassAnnotation]: 'true' } }
  await client.create(VolumeSnapshotClass, { metadata, driver: localDriverName, deletionPolicy: 'Delete' }).catch(ignoreAlreadyExists)
}
