import type { Controller } from '#controllers/runtime/environment.ts'
import { togetherAs } from '#controllers/runtime/together-as.ts'
import { attachLoop } from '#controllers/volume-driver/attach-loop.ts'
import { deleteLoop } from '#controllers/volume-driver/delete-loop.ts'
import { modifyLoop } from '#controllers/volume-driver/modify-loop.ts'
import { provisionLoop } from '#controllers/volume-driver/provision-loop.ts'
import { resizeLoop } from '#controllers/volume-driver/resize-loop.ts'
import type { VolumeDriver } from '#controllers/volume-driver/volume-driver.ts'

/**
 * What upstream's sidecars do for a driver, over the same annotations, finalizers and status fields: a driver that brings its own
 * sidecars does not need this, and must not have it.
 */
export function volumeDriverControllers(driver: VolumeDriver): Controller {
  const names = { name: `volume-driver ${driver.name}`, alias: driver.name, serviceAccount: '' }
  return {
    ...names,
    async start(environment) {
      const stop = new AbortController()
      const loop = { driver, signal: stop.signal }
      const loops = [
        ...(driver.provision === undefined ? [] : [provisionLoop(loop)]),
        ...(driver.delete === undefined ? [] : [deleteLoop(loop)]),
        ...(driver.attach === undefined ? [] : [attachLoop(loop)]),
        ...(driver.expand === undefined ? [] : [resizeLoop(loop)]),
        ...(driver.modify === undefined ? [] : [modifyLoop(loop)]),
      ]
      const running = await togetherAs(names, loops).start(environment)
      return {
        begin: () => running.begin(),
        get isIdle() {
          return running.isIdle
        },
        async stop() {
          stop.abort(new Error('the driver’s controllers are stopped'))
          await running.stop()
        },
      }
    },
  }
}
