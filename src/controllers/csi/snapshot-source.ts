import { isNotFound } from '#api/meta/server-response.ts'
import type { Client } from '#client/client.ts'
import { DriverError } from '#controllers/volume-driver/driver-error.ts'
import { VolumeSnapshot, VolumeSnapshotContent } from '#controllers/volume-snapshot/definitions.ts'

/** The driver's own name for a snapshot that a volume is to be made of. Rejects while the snapshot cannot be used. */
export async function snapshotHandleOf(
  { namespace, name, driver }: { namespace: string; name: string; driver: string },
  client: Pick<Client, 'get'>,
): Promise<string> {
  const snapshot = await client.get(VolumeSnapshot, namespace, name).catch((error: unknown) => {
    if (isNotFound(error))
      throw new DriverError(
        'final',
        `error getting snapshot ${name} from api server: volumesnapshots.snapshot.storage.k8s.io "${name}" not found`,
      )
    throw error
  })
  const content = snapshot.status?.boundVolumeSnapshotContentName
  if (snapshot.metadata.deletionTimestamp !== undefined) throw new DriverError('final', `snapshot ${name} is currently being deleted`)
  if (!content || !snapshot.status?.readyToUse) throw new DriverError('final', `snapshot ${name} is not Ready`)
  const { spec, status } = await client.get(VolumeSnapshotContent, '', content)
  if (spec.driver !== driver) throw new DriverError('final', `snapshot ${name} is of driver ${spec.driver}, the class is of ${driver}`)
  if (!status?.snapshotHandle) throw new DriverError('final', `snapshot handle of ${content} is not available`)
  return status.snapshotHandle
}
