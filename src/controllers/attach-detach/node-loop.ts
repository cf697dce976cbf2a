import { Node } from '#api/core/v1/kinds.gen.ts'
import { VolumeAttachment } from '#api/storage/v1/kinds.gen.ts'
import type { AttachDetachState } from '#controllers/attach-detach/attach-detach-state.ts'
import { indexAttachments } from '#controllers/attach-detach/attachments.ts'
import { defineController } from '#controllers/runtime/define-controller.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { on } from '#controllers/runtime/triggers.ts'

/** Keeps what a node is told of its attachments true, also when somebody has wiped it. */
export const nodeLoop = ({ reports }: AttachDetachState): Controller =>
  defineController({
    name: 'persistentvolume-attach-detach-controller',
    queueName: 'attachdetach_nodes',
    serviceAccount: 'attachdetach-controller',
    for: Node,
    indexes: indexAttachments,
    ignores: (next, prev) =>
      prev !== undefined && JSON.stringify(next.status?.volumesAttached) === JSON.stringify(prev.status?.volumesAttached),
    watches: [on(VolumeAttachment, ({ spec }) => [spec.nodeName])],

    async reconcile({ metadata }, { cache, client }) {
      await reports.write(metadata.name ?? '', client, cache)
    },
    async reconcileGone(_namespace, name) {
      reports.forget(name)
    },
  })
