import { dirname } from 'node:path'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { Lifecycle, processSignals, runUntilSignal } from '#base/lifecycle.ts'
import { thisProcess } from '#base/machine.ts'
import type { OptionValues } from '#base/options.ts'
import { systemRandom } from '#base/random.ts'
import { loggerOf } from '#cmd/logger-of.ts'
import type { runtimeOptions } from '#cmd/runtime/command.ts'
import { openEmbeddedRuntime } from '#cmd/runtime/start-embedded-runtime.ts'
import { embeddedProvider } from '#runtime/service/cri-service.ts'
import { serveCri } from '#runtime/service/serve-cri.ts'

/** Until a signal ends it; containers run on. */
export async function runRuntime(options: OptionValues<typeof runtimeOptions>): Promise<void> {
  const logger = loggerOf(options)
  const seams = { files: nodeFiles, clock: systemClock, random: systemRandom, logger }
  const lifecycle = new Lifecycle({ clock: systemClock, logger })
  await runUntilSignal(lifecycle, processSignals, async () => {
    await lifecycle.stage('runtime', async (stage) => {
      const place = {
        directory: options.root,
        cniConfigDirectory: options.cniConfDir,
        cniBinDirectory: options.cniBinDir,
        ociRuntime: options.ociRuntime,
      }
      const runtime = await openEmbeddedRuntime(place, seams)
      stage.defer(() => runtime[Symbol.asyncDispose]())
      const socket = options.listen.replace(/^unix:\/\//, '')
      await nodeFiles.makeDirectory(dirname(socket))
      const server = await serveCri(embeddedProvider(runtime), socket, nodeFiles)
      stage.defer(() => server.close())
      thisProcess.print(`CRI is served at ${socket}`)
    })
  })
  thisProcess.exit(0)
}
