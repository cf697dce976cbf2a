import type { V1Volume } from '#api/core/v1/types.gen.ts'
import { parseQuantity } from '#api/meta/quantity.ts'
import type { Description } from './description.ts'
import { describeVolumeSource } from './volume-sources.ts'

export function describeVolumes(out: Description, volumes: readonly V1Volume[], space = ''): void {
  if (volumes.length === 0) {
    out.write(0, `${space}Volumes:\t<none>\n`)
    return
  }
  out.write(0, `${space}Volumes:\n`)
  for (const volume of volumes) {
    out.write(1, `${space === '' ? '' : ' '}${volume.name}:\n`)
    describeVolume(out, volume)
  }
}

function describeVolume(out: Description, volume: V1Volume): void {
  const { hostPath, emptyDir, secret, configMap, nfs, persistentVolumeClaim, ephemeral, downwardAPI, projected, csi, image } = volume
  const fields = (type: string, values: Readonly<Record<string, unknown>>) => {
    out.field(2, 'Type', type)
    for (const [name, value] of Object.entries(values)) out.field(2, name, value)
  }
  if (hostPath !== undefined)
    fields('HostPath (bare host directory volume)', { Path: hostPath.path, HostPathType: hostPath.type ?? '<none>' })
  else if (emptyDir !== undefined) {
    const hasLimit = emptyDir.sizeLimit !== undefined && parseQuantity(emptyDir.sizeLimit).milliValue() > 0
    fields("EmptyDir (a temporary directory that shares a pod's lifetime)", {
      Medium: emptyDir.medium ?? '',
      SizeLimit: hasLimit ? emptyDir.sizeLimit : '<unset>',
    })
  } else if (secret !== undefined)
    fields('Secret (a volume populated by a Secret)', { SecretName: secret.secretName, Optional: secret.optional ?? false })
  else if (configMap !== undefined)
    fields('ConfigMap (a volume populated by a ConfigMap)', { Name: configMap.name, Optional: configMap.optional ?? false })
  else if (nfs !== undefined)
    fields('NFS (an NFS mount that lasts the lifetime of a pod)', { Server: nfs.server, Path: nfs.path, ReadOnly: nfs.readOnly ?? false })
  else if (persistentVolumeClaim !== undefined)
    fields('PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)', {
      ClaimName: persistentVolumeClaim.claimName,
      ReadOnly: persistentVolumeClaim.readOnly ?? false,
    })
  else if (ephemeral !== undefined)
    fields('EphemeralVolume (an inline specification for a volume that gets created and deleted with the pod)', {})
  else if (downwardAPI !== undefined) {
    out.field(2, 'Type', 'DownwardAPI (a volume populated by information about the pod)')
    out.write(2, 'Items:\n')
    for (const { fieldRef, resourceFieldRef, path } of downwardAPI.items ?? [])
      out.write(3, `${fieldRef?.fieldPath ?? resourceFieldRef?.resource ?? ''} -> ${path}\n`)
  } else if (projected !== undefined) describeProjected(out, volume)
  else if (csi !== undefined) {
    fields('CSI (a Container Storage Interface (CSI) volume source)', {
      Driver: csi.driver,
      FSType: csi.fsType ?? '',
      ReadOnly: csi.readOnly ?? false,
    })
    const attributes = Object.entries(csi.volumeAttributes ?? {}).sort(([one], [other]) => (one < other ? -1 : 1))
    if (attributes.length === 0) out.write(2, 'VolumeAttributes:\t<none>\n')
    for (const [index, [key, value]] of attributes.entries())
      out.write(index === 0 ? 2 : 0, `${index === 0 ? 'VolumeAttributes:' : ''}\t    ${key}=${value}\n`)
  } else if (image !== undefined)
    fields('Image (a container image or OCI artifact)', { Reference: image.reference ?? '', PullPolicy: image.pullPolicy ?? '' })
  else if (!describeVolumeSource(out, volume)) out.write(1, '<unknown>\n')
}

function describeProjected(out: Description, { projected }: V1Volume): void {
  out.field(2, 'Type', 'Projected (a volume that contains injected data from multiple sources)')
  for (const { secret, downwardAPI, configMap, serviceAccountToken } of projected?.sources ?? []) {
    if (secret !== undefined) {
      out.field(2, 'SecretName', secret.name ?? '')
      out.field(2, 'Optional', secret.optional ?? false)
    } else if (downwardAPI !== undefined) out.field(2, 'DownwardAPI', true)
    else if (configMap !== undefined) {
      out.field(2, 'ConfigMapName', configMap.name ?? '')
      out.field(2, 'Optional', configMap.optional ?? false)
    } else if (serviceAccountToken !== undefined) out.field(2, 'TokenExpirationSeconds', serviceAccountToken.expirationSeconds)
  }
}
