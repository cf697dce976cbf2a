/**
 * What a driver of volumes is asked for by the control loops: the part that upstream leaves to a CSI driver and its sidecars.
 * The built-in local volumes, drivers behind a CSI socket and simulated volumes all are one of these.
 */

import type { V1PersistentVolume, V1PersistentVolumeClaim, V1PersistentVolumeSpec, V1VolumeNodeAffinity } from '#api/core/v1/types.gen.ts'
import type { V1StorageClass, V1VolumeAttributesClass } from '#api/storage/v1/types.gen.ts'

/**
 * Every call may come again with the same words, also after one that failed or whose answer was lost: it then answers as before
 * and makes nothing twice. What is not there need not be deleted or detached, and is no error. Several calls may run at the same time,
 * but never two for the same volume and node. A method that is absent is not the driver's business: nobody provisions, volumes
 * need no attaching, cannot grow or be modified.
 */
export type VolumeDriver = {
  /** What classes name as their provisioner, and volumes as their CSI driver. */
  readonly name: string
  /** For a driver that works for one node alone: it takes claims that were given to that node, and volumes that only it can reach. */
  readonly nodeName?: string

  /** Makes the volume of that name, or finds the one it has made. */
  provision?(request: ProvisionRequest, signal: AbortSignal): Promise<ProvisionedVolume>
  delete?(volume: V1PersistentVolume, signal: AbortSignal): Promise<void>

  /** Resolves when the node can use the volume, with what the node has to know of it. */
  attach?(request: AttachRequest, signal: AbortSignal): Promise<Readonly<Record<string, string>>>
  detach?(request: AttachRequest, signal: AbortSignal): Promise<void>

  /** Makes the volume at least so large. */
  expand?(request: ExpandRequest, signal: AbortSignal): Promise<ExpandedVolume>
  modify?(request: ModifyRequest, signal: AbortSignal): Promise<void>
}

export type ProvisionRequest = {
  /** `pvc-<uid of the claim>`: the same for the same claim, whoever asks. */
  readonly name: string
  readonly claim: V1PersistentVolumeClaim
  readonly storageClass: V1StorageClass
  readonly attributesClass?: V1VolumeAttributesClass
  readonly sizeBytes: number
  /** Where the first pod will run; absent where volumes are made before anybody uses them. */
  readonly nodeName?: string
}

export type ProvisionedVolume = {
  /** The source of the volume: `{ csi: … }`, `{ local: … }`, `{ hostPath: … }`. */
  readonly source: Partial<V1PersistentVolumeSpec>
  /** What it has in truth; what was asked for where absent. */
  readonly sizeBytes?: number
  readonly nodeAffinity?: V1VolumeNodeAffinity
}

export type AttachRequest = {
  readonly volume: V1PersistentVolume
  readonly nodeName: string
  readonly isReadOnly: boolean
  /** What `attach` answered; absent where it has not. */
  readonly metadata?: Readonly<Record<string, string>>
}

export type ExpandRequest = {
  readonly volume: V1PersistentVolume
  readonly claim: V1PersistentVolumeClaim
  readonly sizeBytes: number
}

export type ExpandedVolume = {
  readonly sizeBytes: number
  /** The file system must grow on the node as well; the claim says so until it has. */
  readonly needsNode: boolean
}

export type ModifyRequest = {
  readonly volume: V1PersistentVolume
  readonly claim: V1PersistentVolumeClaim
  readonly attributesClass: V1VolumeAttributesClass
}
