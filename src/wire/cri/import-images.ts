/** Beside CRI, which has no such thing: the embedded runtime takes images from a file on its machine. */
export const importMethod = {
  path: '/typernetes.runtime.v1.Images/Import',
  encodeRequest: (archiveFile: string): Uint8Array => Buffer.from(archiveFile),
  decodeRequest: (bytes: Uint8Array): string => Buffer.from(bytes).toString(),
  encodeResponse: (names: readonly string[]): Uint8Array => Buffer.from(JSON.stringify(names)),
  decodeResponse: (bytes: Uint8Array): string[] => JSON.parse(Buffer.from(bytes).toString()) as string[],
}
