import type { V1Volume } from '#api/core/v1/types.gen.ts'
import { type PodCheck, plural, quotedList, sortedSet } from '#apiserver/admission/pod-security/checks/check.ts'

const allowedTypes: readonly (keyof V1Volume)[] = [
  ...(['configMap', 'csi', 'downwardAPI', 'emptyDir', 'ephemeral', 'image', 'persistentVolumeClaim', 'projected', 'secret'] as const),
]

/** In the order in which a volume's type is found. */
const knownTypes: readonly (keyof V1Volume)[] = [
  ...(['hostPath', 'gcePersistentDisk', 'awsElasticBlockStore', 'gitRepo', 'nfs', 'iscsi', 'glusterfs', 'rbd', 'flexVolume'] as const),
  ...(['cinder', 'cephfs', 'flocker', 'fc', 'azureFile', 'vsphereVolume', 'quobyte', 'azureDisk', 'photonPersistentDisk'] as const),
  ...(['portworxVolume', 'scaleIO', 'storageos'] as const),
]

/** What is not the cluster's own comes through claims. */
export const restrictedVolumes: PodCheck = {
  id: 'restrictedVolumes',
  level: 'restricted',
  versions: [
    {
      since: 0,
      overrides: ['hostPathVolumes'],
      check({ volumes = [] }) {
        const refused = volumes.filter((volume) => !allowedTypes.some((type) => volume[type] !== undefined))
        if (refused.length === 0) return undefined
        const types = sortedSet(refused.map((volume) => knownTypes.find((type) => volume[type] !== undefined) ?? 'unknown'))
        const names = refused.map(({ name }) => name)
        const uses = `${plural('uses', names.length, 'use')} ${plural('restricted volume type', types.length)} ${quotedList(types)}`
        return { reason: 'restricted volume types', detail: `${plural('volume', names.length)} ${quotedList(names)} ${uses}` }
      },
    },
  ],
}
