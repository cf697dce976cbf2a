/** Volumes of storage systems, as `describe` shows those of pods and persistent volumes: a type, and a line for each field. */
import type { Description } from './description.ts'

type Source = Readonly<Record<string, unknown>>
type Line = readonly [label: string, value: (source: Source) => unknown]

const field =
  (name: string, absent: unknown = '') =>
  (source: Source): unknown =>
    source[name] ?? absent
const list = (name: string) => (source: Source) => `[${((source[name] ?? []) as readonly unknown[]).join(' ')}]`
const map = (name: string) => (source: Source) => {
  const entries = Object.entries((source[name] ?? {}) as object).sort(([one], [other]) => (one < other ? -1 : 1))
  return `map[${entries.map(([key, value]) => `${key}:${value}`).join(' ')}]`
}
/** As Go prints a reference. */
const secretRef = (source: Source): string => {
  const reference = source['secretRef'] as { name?: string; namespace?: string } | undefined
  if (reference === undefined) return 'nil'
  return reference.namespace === undefined
    ? `&LocalObjectReference{Name:${reference.name ?? ''},}`
    : `&SecretReference{Name:${reference.name ?? ''},Namespace:${reference.namespace},}`
}

const fsType: Line = ['FSType:', field('fsType')]
const readOnly: Line = ['ReadOnly:', field('readOnly', false)]
const secret: Line = ['SecretRef:', secretRef]
const disk: readonly Line[] = [fsType, ['Partition:', field('partition', 0)], readOnly]

const sources: Readonly<Record<string, { type: string; lines: readonly Line[]; persistent?: readonly Line[] }>> = {
  gcePersistentDisk: {
    type: 'GCEPersistentDisk (a Persistent Disk resource in Google Compute Engine)',
    lines: [['PDName:', field('pdName')], ...disk],
  },
  awsElasticBlockStore: {
    type: 'AWSElasticBlockStore (a Persistent Disk resource in AWS)',
    lines: [['VolumeID:', field('volumeID')], ...disk],
  },
  gitRepo: {
    type: 'GitRepo (a volume that is pulled from git when the pod is created)',
    lines: [
      ['Repository:', field('repository')],
      ['Revision:', field('revision')],
    ],
  },
  iscsi: {
    type: "ISCSI (an ISCSI Disk resource that is attached to a kubelet's host machine and then exposed to the pod)",
    lines: [
      ['TargetPortal:', field('targetPortal')],
      ['IQN:', field('iqn')],
      ['Lun:', field('lun', 0)],
      ['ISCSIInterface', field('iscsiInterface')],
      fsType,
      readOnly,
      ['Portals:', list('portals')],
      ['DiscoveryCHAPAuth:', field('chapAuthDiscovery', false)],
      ['SessionCHAPAuth:', field('chapAuthSession', false)],
      secret,
      ['InitiatorName:', field('initiatorName', '<none>')],
    ],
  },
  glusterfs: {
    type: "Glusterfs (a Glusterfs mount on the host that shares a pod's lifetime)",
    lines: [['EndpointsName:', field('endpoints')], ['Path:', field('path')], readOnly],
    persistent: [
      ['EndpointsName:', field('endpoints')],
      ['EndpointsNamespace:', field('endpointsNamespace', '<unset>')],
      ['Path:', field('path')],
      readOnly,
    ],
  },
  rbd: {
    type: "RBD (a Rados Block Device mount on the host that shares a pod's lifetime)",
    lines: [
      ['CephMonitors:', list('monitors')],
      ['RBDImage:', field('image')],
      fsType,
      ['RBDPool:', field('pool')],
      ['RadosUser:', field('user')],
      ['Keyring:', field('keyring')],
      secret,
      readOnly,
    ],
  },
  quobyte: {
    type: "Quobyte (a Quobyte mount on the host that shares a pod's lifetime)",
    lines: [['Registry:', field('registry')], ['Volume:', field('volume')], readOnly],
  },
  cephfs: {
    type: "CephFS (a CephFS mount on the host that shares a pod's lifetime)",
    lines: [
      ['Monitors:', list('monitors')],
      ['Path:', field('path')],
      ['User:', field('user')],
      ['SecretFile:', field('secretFile')],
      secret,
      readOnly,
    ],
  },
  cinder: {
    type: 'Cinder (a Persistent Disk resource in OpenStack)',
    lines: [['VolumeID:', field('volumeID')], fsType, readOnly, secret],
  },
  fc: {
    type: 'FC (a Fibre Channel disk)',
    lines: [
      ['TargetWWNs:', (source) => ((source['targetWWNs'] ?? []) as readonly string[]).join(', ')],
      ['LUN:', field('lun', '<none>')],
      fsType,
      readOnly,
    ],
  },
  azureDisk: {
    type: 'AzureDisk (an Azure Data Disk mount on the host and bind mount to the pod)',
    lines: [
      ['DiskName:', field('diskName')],
      ['DiskURI:', field('diskURI')],
      ['Kind: ', field('kind')],
      fsType,
      ['CachingMode:', field('cachingMode')],
      readOnly,
    ],
  },
  azureFile: {
    type: 'AzureFile (an Azure File Service mount on the host and bind mount to the pod)',
    lines: [['SecretName:', field('secretName')], ['ShareName:', field('shareName')], readOnly],
    persistent: [
      ['SecretName:', field('secretName')],
      ['SecretNamespace:', field('secretNamespace')],
      ['ShareName:', field('shareName')],
      readOnly,
    ],
  },
  vsphereVolume: {
    type: 'vSphereVolume (a Persistent Disk resource in vSphere)',
    lines: [['VolumePath:', field('volumePath')], fsType, ['StoragePolicyName:', field('storagePolicyName')]],
  },
  photonPersistentDisk: {
    type: 'PhotonPersistentDisk (a Persistent Disk resource in photon platform)',
    lines: [['PdID:', field('pdID')], fsType],
  },
  portworxVolume: { type: 'PortworxVolume (a Portworx Volume resource)', lines: [['VolumeID:', field('volumeID')]] },
  flexVolume: {
    type: 'FlexVolume (a generic volume resource that is provisioned/attached using an exec based plugin)',
    lines: [['Driver:', field('driver')], fsType, secret, readOnly, ['Options:', map('options')]],
  },
  flocker: {
    type: 'Flocker (a Flocker volume mounted by the Flocker agent)',
    lines: [
      ['DatasetName:', field('datasetName')],
      ['DatasetUUID:', field('datasetUUID')],
    ],
  },
  storageos: {
    type: 'StorageOS (a StorageOS Persistent Disk resource)',
    lines: [['VolumeName:', field('volumeName')], ['VolumeNamespace:', field('volumeNamespace')], fsType, readOnly],
  },
}

/** False where the volume has none of these. */
export function describeVolumeSource(out: Description, volume: object, { isPersistent = false }: { isPersistent?: boolean } = {}): boolean {
  for (const [name, source] of Object.entries(volume)) {
    const known = Object.hasOwn(sources, name) ? sources[name] : undefined
    if (known === undefined || typeof source !== 'object' || source === null) continue
    out.field(2, 'Type', known.type)
    for (const [label, value] of (isPersistent ? known.persistent : undefined) ?? known.lines) out.write(2, `${label}\t${value(source)}\n`)
    return true
  }
  return false
}
