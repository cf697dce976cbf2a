import type { V1PersistentVolume, V1PersistentVolumeClaim, V1Pod } from '#api/core/v1/types.gen.ts'
import type { V1StorageClass } from '#api/storage/v1/types.gen.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { type Description, rfc1123 } from './description.ts'
import { describeVolumeSource } from './volume-sources.ts'

const shortModes: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
}
const modesText = (modes: readonly string[] | undefined): string =>
  ['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOncePod']
    .filter((mode) => modes?.includes(mode))
    .map((mode) => shortModes[mode])
    .join(',')
const classOf = (metadata: { annotations?: Record<string, string> } | undefined, name: string | undefined): string =>
  metadata?.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? name ?? ''

export async function describeClaim(out: Description, object: ApiObject, { session }: Call): Promise<void> {
  const { metadata, spec, status } = object as unknown as V1PersistentVolumeClaim
  out.field(0, 'Name', metadata?.name)
  out.field(0, 'Namespace', metadata?.namespace)
  out.field(0, 'StorageClass', classOf(metadata, spec?.storageClassName))
  out.field(
    0,
    'Status',
    metadata?.deletionTimestamp ? `Terminating (lasts ${out.since(metadata.deletionTimestamp)})` : (status?.phase ?? ''),
  )
  out.field(0, 'Volume', spec?.volumeName ?? '')
  out.labels('Labels', metadata?.labels)
  out.annotations('Annotations', metadata?.annotations)
  out.field(0, 'Finalizers', `[${(metadata?.finalizers ?? []).join(' ')}]`)
  out.field(0, 'Capacity', spec?.volumeName ? (status?.capacity?.['storage'] ?? '0') : '')
  out.field(0, 'Access Modes', spec?.volumeName ? modesText(status?.accessModes) : '')
  out.optional(0, 'VolumeMode', spec?.volumeMode)
  if (spec?.dataSource !== undefined) {
    out.write(0, 'DataSource:\n')
    out.optional(1, 'APIGroup', spec.dataSource.apiGroup)
    out.field(1, 'Kind', spec.dataSource.kind)
    out.field(1, 'Name', spec.dataSource.name)
  }
  const rest = await session.rest
  const { items } = await rest.json<{ items: V1Pod[] }>({ path: `/api/v1/namespaces/${metadata?.namespace}/pods`, query: { limit: 500 } })
  const users = items.filter((pod) =>
    pod.spec?.volumes?.some(
      ({ name, persistentVolumeClaim, ephemeral }) =>
        persistentVolumeClaim?.claimName === metadata?.name ||
        (ephemeral !== undefined && `${pod.metadata?.name}-${name}` === metadata?.name),
    ),
  )
  const names = users.map((pod) => pod.metadata?.name ?? '').sort()
  for (const [index, name] of (names.length === 0 ? ['<none>'] : names).entries())
    out.write(0, `${index === 0 ? 'Used By:' : ''}\t${name}\n`)
  if ((status?.conditions ?? []).length === 0) return
  out.write(0, 'Conditions:\n')
  out.write(1, 'Type\tStatus\tLastProbeTime\tLastTransitionTime\tReason\tMessage\n')
  out.write(1, '----\t------\t-----------------\t------------------\t------\t-------\n')
  for (const { type, status: value, lastProbeTime, lastTransitionTime, reason = '', message = '' } of status?.conditions ?? [])
    out.write(1, `${type} \t${value} \t${rfc1123(lastProbeTime)} \t${rfc1123(lastTransitionTime)} \t${reason} \t${message}\n`)
}

export function describeVolume(out: Description, object: ApiObject): void {
  const { metadata, spec, status } = object as unknown as V1PersistentVolume
  out.field(0, 'Name', metadata?.name)
  out.labels('Labels', metadata?.labels)
  out.annotations('Annotations', metadata?.annotations)
  out.field(0, 'Finalizers', `[${(metadata?.finalizers ?? []).join(' ')}]`)
  out.field(0, 'StorageClass', classOf(metadata, spec?.storageClassName))
  out.field(
    0,
    'Status',
    metadata?.deletionTimestamp ? `Terminating (lasts ${out.since(metadata.deletionTimestamp)})` : (status?.phase ?? ''),
  )
  out.field(0, 'Claim', spec?.claimRef === undefined ? '' : `${spec.claimRef.namespace}/${spec.claimRef.name}`)
  out.field(0, 'Reclaim Policy', spec?.persistentVolumeReclaimPolicy ?? '')
  out.field(0, 'Access Modes', modesText(spec?.accessModes))
  out.optional(0, 'VolumeMode', spec?.volumeMode)
  out.field(0, 'Capacity', spec?.capacity?.['storage'] ?? '0')
  const terms = spec?.nodeAffinity?.required?.nodeSelectorTerms ?? []
  if (spec?.nodeAffinity === undefined) out.field(0, 'Node Affinity', '<none>')
  else {
    out.write(0, 'Node Affinity:\n')
    out.write(1, 'Required Terms:\n')
    for (const [index, { matchExpressions = [] }] of terms.entries()) {
      const texts = matchExpressions.map(({ key, operator, values = [] }) => `${key} ${operator.toLowerCase()} [${values.join(', ')}]`)
      for (const [line, text] of texts.entries()) out.write(2, `${line === 0 ? `Term ${index}:` : ''}\t${text}\n`)
    }
  }
  out.field(0, 'Message', status?.message ?? '')
  out.write(0, 'Source:\n')
  describeSource(out, spec)
}

function describeSource(out: Description, spec: V1PersistentVolume['spec']): void {
  const { hostPath, nfs, csi, local } = spec ?? {}
  const fields = (type: string, values: Readonly<Record<string, unknown>>) => {
    out.field(2, 'Type', type)
    for (const [name, value] of Object.entries(values)) out.field(2, name, value)
  }
  if (hostPath !== undefined)
    fields('HostPath (bare host directory volume)', { Path: hostPath.path, HostPathType: hostPath.type ?? '<none>' })
  else if (nfs !== undefined)
    fields('NFS (an NFS mount that lasts the lifetime of a pod)', { Server: nfs.server, Path: nfs.path, ReadOnly: nfs.readOnly ?? false })
  else if (local !== undefined) fields('LocalVolume (a persistent volume backed by local storage on a node)', { Path: local.path })
  else if (csi !== undefined) {
    fields('CSI (a Container Storage Interface (CSI) volume source)', {
      Driver: csi.driver,
      FSType: csi.fsType ?? '',
      VolumeHandle: csi.volumeHandle,
      ReadOnly: csi.readOnly ?? false,
    })
    const attributes = Object.entries(csi.volumeAttributes ?? {}).sort(([one], [other]) => (one < other ? -1 : 1))
    if (attributes.length === 0) out.write(2, 'VolumeAttributes:\t<none>\n')
    for (const [index, [key, value]] of attributes.entries())
      out.write(index === 0 ? 2 : 0, `${index === 0 ? 'VolumeAttributes:' : ''}\t    ${key}=${value}\n`)
  } else if (!describeVolumeSource(out, spec ?? {}, { isPersistent: true })) out.write(1, '<unknown>\n')
}

export function describeStorageClass(out: Description, object: ApiObject): void {
  const {
    metadata,
    provisioner,
    parameters = {},
    allowVolumeExpansion,
    mountOptions = [],
    reclaimPolicy,
    volumeBindingMode,
    allowedTopologies = [],
  } = object as unknown as V1StorageClass
  const isDefault = ['storageclass.kubernetes.io/is-default-class', 'storageclass.beta.kubernetes.io/is-default-class'].some(
    (key) => metadata?.annotations?.[key] === 'true',
  )
  const pairs = (map: Readonly<Record<string, string>> | undefined) =>
    Object.keys(map ?? {})
      .sort()
      .map((key) => `${key}=${map?.[key]}`)
      .join(',') || '<none>'
  out.field(0, 'Name', metadata?.name)
  out.field(0, 'IsDefaultClass', isDefault ? 'Yes' : 'No')
  out.field(0, 'Annotations', pairs(metadata?.annotations))
  out.field(0, 'Provisioner', provisioner)
  out.field(0, 'Parameters', pairs(parameters))
  out.field(0, 'AllowVolumeExpansion', allowVolumeExpansion === undefined ? '<unset>' : allowVolumeExpansion ? 'True' : 'False')
  if (mountOptions.length === 0) out.field(0, 'MountOptions', '<none>')
  else {
    out.write(0, 'MountOptions:\n')
    for (const option of mountOptions) out.write(1, `${option}\n`)
  }
  out.optional(0, 'ReclaimPolicy', reclaimPolicy)
  out.optional(0, 'VolumeBindingMode', volumeBindingMode)
  if (allowedTopologies.length === 0) return
  out.write(0, 'AllowedTopologies:\n')
  for (const [index, { matchLabelExpressions = [] }] of allowedTopologies.entries())
    for (const [line, { key, values }] of matchLabelExpressions.entries())
      out.write(1, `${line === 0 ? `Term ${index}:` : ''}\t${key} in [${values.join(', ')}]\n`)
}
