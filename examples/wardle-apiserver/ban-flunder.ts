import { type AdmissionPlugin, type ClusterView, forbidden } from '#index.ts'
import { Fischer } from './fischer.ts'

/** Refuses flunders whose name a fischer bans. */
export function banFlunder(objects: ClusterView): AdmissionPlugin {
  return {
    name: 'BanFlunder',
    operations: ['CREATE'],
    resources: ['flunders.wardle.example.com'],
    mutate({ resource, name, object }) {
      const banned = objects.list(Fischer).some(({ disallowedFlunders = [] }) => disallowedFlunders.includes(object?.metadata?.name ?? ''))
      if (banned) throw forbidden(resource, name, 'this name may not be used, please change the resource name')
    },
  }
}
