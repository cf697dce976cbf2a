/** Resource versions of one resource are whole numbers of any size, and grow. */
export function isOlderVersion(version: string, than: string): boolean {
  return version.length === than.length ? version < than : version.length < than.length
}

export function newerVersion(one: string, other: string): string {
  return isOlderVersion(one, other) ? other : one
}
