/** The embedded runtime at a socket, for whoever else speaks CRI: crictl, another node agent. */
import type { Files } from '#base/files.ts'
import { type GrpcHandler, type GrpcServer, startGrpcServer } from '#base/grpc.ts'
import { criService } from '#runtime/service/cri-service.ts'
import type { EmbeddedRuntime } from '#runtime/service/embedded-runtime.ts'
import { type CriMethod, type CriUnaryName, criMethods } from '#wire/cri/cri-messages.ts'
import { importMethod } from '#wire/cri/import-images.ts'

export async function serveCri(runtime: EmbeddedRuntime, socket: string, files: Files): Promise<GrpcServer> {
  const service = criService(runtime)
  const handlers: Record<string, GrpcHandler> = {
    [criMethods.getContainerEvents.path]: {
      converse(peer) {
        const listening = runtime.onEvent((event) => void peer.send(criMethods.getContainerEvents.encodeResponse(event)))
        peer.onClosed(() => listening[Symbol.dispose]())
      },
    },
    [importMethod.path]: {
      answer: async (request) => importMethod.encodeResponse(await runtime.images.import(importMethod.decodeRequest(request))),
    },
  }
  for (const [name, method] of Object.entries(criMethods) as [CriUnaryName, CriMethod<unknown, unknown>][]) {
    const handler = service[name] as ((request: unknown) => Promise<unknown>) | undefined
    if (handler !== undefined)
      handlers[method.path] = { answer: async (bytes) => method.encodeResponse(await handler(method.decodeRequest(bytes))) }
  }
  // One that was left by an agent before us: whoever else used the directory would hold its lock.
  await files.remove(socket)
  const server = await startGrpcServer({ address: `unix:${socket}`, handlers })
  await files.setMode(socket, 0o600)
  return server
}
