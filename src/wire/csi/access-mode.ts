import { accessModes } from '#wire/csi/csi-types.ts'

/** Kubernetes' word for who may use a volume, in CSI's number. Not every driver tells one writer from several on the same node. */
export function csiAccessMode(mode: string, tellsWritersApart: boolean): number {
  switch (mode) {
    case 'ReadOnlyMany':
      return accessModes.multiNodeReaderOnly
    case 'ReadWriteMany':
      return accessModes.multiNodeMultiWriter
    case 'ReadWriteOncePod':
      return tellsWritersApart ? accessModes.singleNodeSingleWriter : accessModes.singleNodeWriter
    default:
      return tellsWritersApart ? accessModes.singleNodeMultiWriter : accessModes.singleNodeWriter
  }
}
