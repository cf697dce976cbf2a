/** The driver that every node has built in: its volumes and snapshots are asked for at the node whose name their ids begin with. */
import type { Clock } from '#base/clock.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import type { Client } from '#client/client.ts'
import { NodeIsGone, nodeCsiCaller } from '#controllers/csi/node-csi-caller.ts'
import type { CsiCaller } from '#wire/csi/csi-driver.ts'
import type { CsiCalls, CsiMethodName, CsiRequest, CsiResponse } from '#wire/csi/csi-types.ts'

export const localDriverName = 'local.typernetes.dev'
export const hostnameKey = 'kubernetes.io/hostname'

export function localCaller(parts: { client: Pick<Client, 'post'>; clock: Clock }): CsiCaller {
  return {
    async call<Name extends CsiMethodName>(name: Name, request: CsiRequest<Name>, options: { timeoutMs: number; signal?: AbortSignal }) {
      const nodeName = nodeOf(name, request)
      try {
        return await nodeCsiCaller({ ...parts, nodeName, driver: localDriverName }).call(name, request, options)
      } catch (error) {
        if (!(error instanceof NodeIsGone)) throw error
        // With the node its disk is gone.
        if (name === 'deleteVolume' || name === 'deleteSnapshot') return {} as CsiResponse<Name>
        throw new GrpcError(grpcCodes.resourceExhausted, error.message)
      }
    },
  }
}

function nodeOf(name: CsiMethodName, request: CsiCalls[CsiMethodName][0]): string {
  if (name === 'createVolume') {
    const { accessibilityRequirements: wanted } = request as CsiRequest<'createVolume'>
    const node = [...(wanted?.preferred ?? []), ...(wanted?.requisite ?? [])][0]?.segments[hostnameKey]
    if (node === undefined) throw new GrpcError(grpcCodes.resourceExhausted, 'no node is there that could have the volume')
    return node
  }
  const { volumeId, snapshotId, sourceVolumeId } = request as { volumeId?: string; snapshotId?: string; sourceVolumeId?: string }
  const id = volumeId ?? snapshotId ?? sourceVolumeId ?? ''
  const slash = id.indexOf('/')
  if (slash <= 0) throw new GrpcError(grpcCodes.invalidArgument, `${id} does not name the node it is on`)
  return id.slice(0, slash)
}
