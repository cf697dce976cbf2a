import type { Clock } from '#base/clock.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import type { CsiService } from '#wire/csi/csi-driver.ts'

/** The built-in driver of a simulated node: volumes exist on paper, in the objects of the API alone. */
export function simulatedLocalDriver({ nodeName, clock }: { nodeName: string; clock: Clock }): CsiService {
  const accessibleTopology = [{ segments: { 'kubernetes.io/hostname': nodeName } }]
  return {
    async createVolume({ name, capacityRange, volumeContentSource: contentSource }) {
      if (name === '') throw new GrpcError(grpcCodes.invalidArgument, 'a volume has a name')
      const volume = { volumeId: `${nodeName}/${name}`, capacityBytes: capacityRange?.requiredBytes ?? 0, accessibleTopology }
      return { volume: contentSource === undefined ? volume : { ...volume, contentSource } }
    },
    deleteVolume: async () => ({}),
    controllerExpandVolume: async ({ capacityRange }) => ({
      capacityBytes: capacityRange.requiredBytes ?? 0,
      nodeExpansionRequired: false,
    }),
    async createSnapshot({ name, sourceVolumeId }) {
      return {
        snapshot: {
          snapshotId: `${nodeName}/${name}`,
          sourceVolumeId,
          readyToUse: true,
          creationTime: { seconds: Math.floor(clock.now() / 1000) },
        },
      }
    },
    deleteSnapshot: async () => ({}),
  }
}
