import { errorMessage } from '#base/error-message.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import type { CriProvider } from '#runtime/service/cri-provider.ts'
import { type ImportNews, importMethod } from '#wire/cri/import-images.ts'

type Listener = { send(message: Uint8Array): unknown; end(): void; fail(error: GrpcError): void }

/** Takes images from the archive that the request names, and tells a client how far it is, and what came in. */
export async function tellImport(provider: CriProvider, request: Uint8Array, client: Listener): Promise<void> {
  const tell = (news: ImportNews) => void client.send(importMethod.encodeResponse(news))
  try {
    const onProgress = (doneBytes: number, totalBytes: number) => tell({ doneBytes, totalBytes })
    tell({ names: await provider.importImages(importMethod.decodeRequest(request), onProgress) })
    client.end()
  } catch (error) {
    client.fail(error instanceof GrpcError ? error : new GrpcError(grpcCodes.unknown, errorMessage(error)))
  }
}
