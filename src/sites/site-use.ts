import { extensionPoint } from '../composition/index.ts';
import type { SiteUse } from './model.ts';

/** What keeps a site from being deleted. */
export const SITE_USES = extensionPoint<SiteUse>('site-uses');
