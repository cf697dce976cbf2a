/** Volumes of drivers that once were part of Kubernetes, as those see them that do their work today. */
import type { V1PersistentVolumeSpec, V1Volume } from '#api/core/v1/types.gen.ts'

export type AttachedVolume = { readonly driver: string; readonly handle: string }

const drivers: Readonly<Record<string, string>> = {
  'kubernetes.io/aws-ebs': 'ebs.csi.aws.com',
  'kubernetes.io/gce-pd': 'pd.csi.storage.gke.io',
  'kubernetes.io/azure-disk': 'disk.csi.azure.com',
  'kubernetes.io/azure-file': 'file.csi.azure.com',
  'kubernetes.io/cinder': 'cinder.csi.openstack.org',
  'kubernetes.io/portworx-volume': 'pxd.portworx.com',
  'kubernetes.io/vsphere-volume': 'csi.vsphere.vmware.com',
}

/** Undefined for provisioners that never were part of Kubernetes, or still are. */
export const migratedDriver = (provisioner: string): string | undefined => drivers[provisioner]

export const driverOfProvisioner = (provisioner: string): string => drivers[provisioner] ?? provisioner

const zoneLabels = ['topology.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/zone']

/** Undefined for what no driver attaches, or attaches without a limit. */
export function attachedVolume(
  source: V1PersistentVolumeSpec | V1Volume,
  labels: Readonly<Record<string, string>> = {},
): AttachedVolume | undefined {
  const { awsElasticBlockStore, gcePersistentDisk, azureDisk, cinder, portworxVolume } = source
  if ('csi' in source && source.csi && 'volumeHandle' in source.csi) return { driver: source.csi.driver, handle: source.csi.volumeHandle }
  if (awsElasticBlockStore) return of('kubernetes.io/aws-ebs', lastPart(awsElasticBlockStore.volumeID))
  if (gcePersistentDisk) {
    const zone = zoneLabels.map((label) => labels[label]).find(Boolean) ?? 'UNSPECIFIED'
    return of('kubernetes.io/gce-pd', `projects/UNSPECIFIED/zones/${zone}/disks/${gcePersistentDisk.pdName}`)
  }
  if (azureDisk) return of('kubernetes.io/azure-disk', azureDisk.diskURI)
  if (cinder) return of('kubernetes.io/cinder', cinder.volumeID)
  if (portworxVolume) return of('kubernetes.io/portworx-volume', portworxVolume.volumeID)
  return undefined
}

const of = (provisioner: string, handle: string): AttachedVolume => ({ driver: driverOfProvisioner(provisioner), handle })

/** `aws://us-east-1a/vol-1` is `vol-1`. */
const lastPart = (id: string): string => id.slice(id.lastIndexOf('/') + 1)

const oldSources = {
  awsElasticBlockStore: 'kubernetes.io/aws-ebs',
  gcePersistentDisk: 'kubernetes.io/gce-pd',
  azureDisk: 'kubernetes.io/azure-disk',
  azureFile: 'kubernetes.io/azure-file',
  cinder: 'kubernetes.io/cinder',
  portworxVolume: 'kubernetes.io/portworx-volume',
  vsphereVolume: 'kubernetes.io/vsphere-volume',
} as const

/** Undefined for volumes of all other sources. */
export function provisionerOfOldSource(source: V1PersistentVolumeSpec): string | undefined {
  for (const [field, provisioner] of Object.entries(oldSources)) if (field in source) return provisioner
  return undefined
}
