import { type EmbeddedPlace, type EmbeddedSeams, openEmbeddedRuntime } from '#cmd/runtime/start-embedded-runtime.ts'
import { removeAllPods } from '#kubelet/runtimes/cri/private-containerd.ts'
import { embeddedProvider } from '#runtime/service/cri-service.ts'
import { InProcessConnection } from '#runtime/service/in-process-connection.ts'

/** Ends everything that an agent has left running in a directory. */
export async function removeEmbeddedPods(place: EmbeddedPlace, seams: EmbeddedSeams): Promise<void> {
  await using runtime = await openEmbeddedRuntime(place, seams)
  using connection = new InProcessConnection(embeddedProvider(runtime))
  await removeAllPods(connection)
}
