/** How a registry wants to be told who asks: `Bearer realm="…",service="…",scope="…"`, or `Basic`. */
export type Challenge = { scheme: 'bearer' | 'basic'; realm?: string; service?: string; scope?: string }

export function parseChallenge(text: string): Challenge | undefined {
  const scheme = /^\s*(bearer|basic)\b/i.exec(text)?.[1]?.toLowerCase() as Challenge['scheme'] | undefined
  if (scheme === undefined) return undefined
  const challenge: Challenge = { scheme }
  for (const [, key = '', value = ''] of text.matchAll(/(?<!\w)(\w+)="([^"]*)"/g)) {
    if (key === 'realm' || key === 'service' || key === 'scope') challenge[key] = value
  }
  return challenge
}
