import { AttachDetachState } from '#controllers/attach-detach/attach-detach-state.ts'
import { meterAttachments } from '#controllers/attach-detach/attachment-metrics.ts'
import { nodeLoop } from '#controllers/attach-detach/node-loop.ts'
import { volumeLoop } from '#controllers/attach-detach/volume-loop.ts'
import { Cache } from '#controllers/runtime/cache.ts'
import type { Controller } from '#controllers/runtime/environment.ts'
import { togetherAs } from '#controllers/runtime/together-as.ts'

const names = { name: 'persistentvolume-attach-detach-controller', alias: 'attachdetach', serviceAccount: 'attachdetach-controller' }

/** Has volumes attached to the nodes that need them, and detached from all others. */
export const attachDetachController: Controller = {
  ...names,
  start(environment) {
    const { informers, metrics } = environment
    const state = new AttachDetachState(meterAttachments(metrics.metrics, new Cache(informers)))
    return togetherAs(names, [volumeLoop(state), nodeLoop(state)]).start(environment)
  },
}
