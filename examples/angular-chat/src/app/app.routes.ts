import type { Routes } from '@angular/router';
import { About } from './about';
import { Chat } from './chat';

export const routes: Routes = [
  { path: '', component: Chat, title: 'A chat with tools' },
  { path: 'about', component: About, title: 'How it works' },
  { path: '**', redirectTo: '' },
];
