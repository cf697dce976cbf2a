/** The storage that every cluster has without anybody's doing: its class, and the loops for the driver that nodes have built in. */
import { isAlreadyExists } from '#api/meta/server-response.ts'
import { CSIDriver, StorageClass } from '#api/storage/v1/kinds.gen.ts'
import type { V1CSIDriver, V1StorageClass } from '#api/storage/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import type { Client } from '#client/client.ts'
import { csiVolumeDriver } from '#controllers/csi/csi-volume-driver.ts'
import type { DriverAbilities } from '#controllers/csi/driver-abilities.ts'
import { hostnameKey, localCaller, localDriverName } from '#controllers/csi/local-caller.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { volumeDriverControllers } from '#controllers/volume-driver/volume-driver-controllers.ts'

/** As other small clusters call theirs: manifests name it. */
const className = 'standard'
const isDefaultClass = 'storageclass.kubernetes.io/is-default-class'

const abilities: DriverAbilities = {
  ...{ controller: true, accessibilityConstraints: true, createDeleteVolume: true, createDeleteSnapshot: true, cloneVolume: true },
  ...{ expandVolume: true, getCapacity: true, singleNodeMultiWriter: true, publishUnpublishVolume: false, publishReadonly: false },
  ...{
    listVolumes: false,
    listSnapshots: false,
    listVolumesPublishedNodes: false,
    volumeCondition: false,
    getVolume: false,
    modifyVolume: false,
  },
}

export function localStorageController({ client, clock }: { client: Client; clock: Clock }): Controller {
  const caller = localCaller({ client, clock })
  return volumeDriverControllers(csiVolumeDriver({ name: localDriverName, caller, client, abilities, topologyKeys: [hostnameKey] }))
}

/** Makes what is missing; what somebody has changed stays so. The class is the default one unless another is. */
export async function ensureLocalStorage(client: Client, { isDefault }: { isDefault: boolean }): Promise<void> {
  const driver: V1CSIDriver = {
    metadata: { name: localDriverName },
    spec: {
      attachRequired: false,
      podInfoOnMount: false,
      fsGroupPolicy: 'File',
      volumeLifecycleModes: ['Persistent'],
      storageCapacity: false,
    },
  }
  await client.create(CSIDriver, driver).catch(unlessThere)
  const { items } = await client.list(StorageClass)
  if (items.some(({ metadata }) => metadata?.name === className)) return
  const hasDefault = items.some(({ metadata }) => metadata?.annotations?.[isDefaultClass] === 'true')
  const storageClass = {
    metadata: { name: className, annotations: { [isDefaultClass]: String(isDefault && !hasDefault) } },
    provisioner: localDriverName,
    reclaimPolicy: 'Delete',
    volumeBindingMode: 'WaitForFirstConsumer',
    allowVolumeExpansion: true,
  } as V1StorageClass
  await client.create(StorageClass, storageClass).catch(unlessThere)
}

function unlessThere(error: unknown): void {
  if (!isAlreadyExists(error)) throw error
}
