/** What is told on the way, and the names of the images at the end. */
export type ImportNews = { doneBytes: number; totalBytes: number } | { names: readonly string[] }

/** Beside CRI, which has no such thing: the embedded runtime takes images from a file on its machine. One message there, news back. */
export const importMethod = {
  path: '/typernetes.runtime.v1.Images/Import',
  encodeRequest: (archiveFile: string): Uint8Array => Buffer.from(archiveFile),
  decodeRequest: (bytes: Uint8Array): string => Buffer.from(bytes).toString(),
  encodeResponse: (news: ImportNews): Uint8Array => Buffer.from(JSON.stringify(news)),
  decodeResponse: (bytes: Uint8Array): ImportNews => JSON.parse(Buffer.from(bytes).toString()) as ImportNews,
}
