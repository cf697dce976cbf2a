/** A runtime of this process at a socket, for whoever else speaks CRI: crictl, another node agent. */

import type { Files } from '#base/files.ts'
import { type GrpcHandler, type GrpcServer, startGrpcServer } from '#base/grpc.ts'
import type { CriProvider } from '#runtime/service/cri-provider.ts'
import { tellImport } from '#runtime/service/tell-import.ts'
import { type CriUnaryName, criMethods } from '#wire/cri/cri-messages.ts'
import { importMethod } from '#wire/cri/import-images.ts'
import type { GrpcMethod } from '#wire/grpc-method.ts'

export async function serveCri(provider: CriProvider, socket: string, files: Files): Promise<GrpcServer> {
  const { service } = provider
  const handlers: Record<string, GrpcHandler> = {
    [criMethods.getContainerEvents.path]: {
      converse(peer) {
        const listening = provider.onEvent((event) => void peer.send(criMethods.getContainerEvents.encodeResponse(event)))
        peer.onClosed(() => listening[Symbol.dispose]())
      },
    },
    [importMethod.path]: {
      converse: (peer) => peer.onMessage((request) => void tellImport(provider, request, peer)),
    },
  }
  for (const [name, method] of Object.entries(criMethods) as [CriUnaryName, GrpcMethod<unknown, unknown>][]) {
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
