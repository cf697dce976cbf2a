/** Base64 between BEGIN and END lines (RFC 7468). */

export type PemBlock = { label: string; der: Uint8Array }

export function encodePem(label: string, der: Uint8Array): string {
  const base64 = Buffer.from(der).toString('base64')
  const lines = base64.match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}

/** Every block of the text in order; what lies between blocks is ignored. */
export function decodePem(text: string): PemBlock[] {
  const blocks: PemBlock[] = []
  for (const match of text.matchAll(/-----BEGIN ([A-Z0-9 ]+)-----\r?\n([\s\S]*?)-----END \1-----/g)) {
    const [, label = '', body = ''] = match
    // Old key files carry headers (Proc-Type, DEK-Info) before an empty line.
    const base64 = body.includes(':') ? body.slice(body.search(/\r?\n\r?\n/)) : body
    blocks.push({ label, der: Buffer.from(base64.replaceAll(/\s/g, ''), 'base64') })
  }
  return blocks
}
